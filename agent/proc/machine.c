// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb machine: describe the system in the kernel's own words.
 *
 * It sends the text of a fixed list of files, and a few values that no file has. It interprets
 * nothing: the reader does, and can be corrected without another visit to the board. A file that is
 * absent or refused is left out, so this works without root, /proc or /sys.
 *
 * Every read is bounded in size and number, and never blocks: firmware, drivers and hypervisors
 * write some of these files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/clock.h"
#include "base/hello.h"
#include "base/json.h"
#include "base/options.h"
#include "proc/machine.h"
#include "proc/machine_paths.h"
#include "proc/paths.h"
#include "proc/throttling.h"

#define TEXT_MAX	(64 << 10)
#define CONFIG_TEXT_MAX (512 << 10)
#define BINARY_MAX	(1 << 20)
#define FILES_MAX	32768
#define HYPERVISOR	(1u << 31) /* of CPUID leaf 1, ecx */
#define MSR_SMI_COUNT	0x34

/* Where kernels and distributions put the kernel's configuration. */
static const char *const configs[] = {
	"/boot/config-%s",
	"/lib/modules/%s/config",
	"/lib/modules/%s/build/.config",
};

static struct json json;
static bool lines; /* JSON lines; else text for a person */
static unsigned int sent;
static char *buffer; /* BINARY_MAX bytes */

static void send_text(const char *path, const char *text, size_t size)
{
	sent++;
	if (!lines) {
		printf("==> %s <==\n", path);
		fwrite(text, 1, size, stdout);
		fputs(size && text[size - 1] == '\n' ? "\n" : "\n\n", stdout);
		return;
	}
	json_begin(&json, "file");
	json_string(&json, "path", path);
	json_text(&json, "text", text, size);
	json_end(&json);
}

static void send_string(const char *path, const char *text)
{
	send_text(path, text, strlen(text));
}

static void send_binary(const char *path, const char *data, size_t size)
{
	sent++;
	if (!lines) {
		printf("==> %s <==\n(%zu bytes, compressed)\n\n", path, size);
		return;
	}
	json_begin(&json, "file");
	json_string(&json, "path", path);
	json_base64(&json, "base64", data, size);
	json_end(&json);
}

static void warn(const char *code, const char *text)
{
	if (!lines) {
		fprintf(stderr, "rtscope-agent machine: %s\n", text);
		return;
	}
	json_warning(&json, code, text);
}

/*
 * Read at most @limit bytes of a regular file into @buffer. Returns -1 when it
 * cannot be read. Paths start with a slash that means the current directory.
 */
static ssize_t read_file(const char *path, size_t limit)
{
	ssize_t size = -1, part;
	struct stat status;
	int fd;

	fd = open(path + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		goto out;

	for (size = 0; (size_t)size < limit; size += part) {
		part = read(fd, buffer + size, limit - size);
		if (!part)
			break;
		if (part > 0)
			continue;
		if (errno != EINTR) {
			size = -1;
			break;
		}
		part = 0;
	}
out:
	close(fd);
	return size;
}

static bool send_file(const char *path, size_t limit)
{
	ssize_t size = read_file(path, limit);

	if (size >= 0)
		send_text(path, buffer, size);
	return size >= 0;
}

/* Only up to the state of high-resolution timers: the rest is long. */
static void send_timer_list(void)
{
	static const char key[] = ".hres_active";
	const char path[] = "/proc/timer_list";
	ssize_t size = read_file(path, BINARY_MAX - 1);
	char *end;

	if (size < 0)
		return;
	buffer[size] = '\0';
	end = strstr(buffer, key);
	if (end)
		end = strchr(end, '\n');
	if (end && end - buffer < TEXT_MAX)
		send_text(path, buffer, end + 1 - buffer);
	else
		send_text(path, buffer, size < TEXT_MAX ? size : TEXT_MAX);
}

static void send_config(const char *release)
{
	ssize_t size = read_file("/proc/config.gz", BINARY_MAX);

	if (size > 0) {
		send_binary("/proc/config.gz", buffer, size);
		return;
	}
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		char path[256];

		snprintf(path, sizeof(path), configs[i], release);
		if (send_file(path, CONFIG_TEXT_MAX))
			return;
	}
}

/* The hypervisor's signature, "KVMKVMKVM" or the like, where there is one. */
static void send_hypervisor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int eax, ebx, ecx, edx;
	unsigned int signature[4] = { 0 };

	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx & HYPERVISOR))
		return;
	__cpuid(0x40000000, eax, signature[0], signature[1], signature[2]);
	send_string("cpuid:hypervisor", (const char *)signature);
#endif
}

/*
 * How often the firmware has stopped the first CPU since power-on: a count of Intel's CPUs, which
 * a hypervisor's guest has no part in.
 */
static void send_smi_count(const char *path)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int eax, ebx, ecx, edx;
	uint64_t count;
	char text[24];
	int fd;

	__cpuid(0, eax, ebx, ecx, edx);
	if (ebx != signature_INTEL_ebx)
		return;
	__cpuid(1, eax, ebx, ecx, edx);
	if (ecx & HYPERVISOR)
		return;
	fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, &count, sizeof(count), MSR_SMI_COUNT) == sizeof(count)) {
		snprintf(text, sizeof(text), "%" PRIu32, (uint32_t)count);
		send_string(path, text);
	}
	close(fd);
#else
	(void)path;
#endif
}

/* Values of the running kernel that no file has. */
static void send_names(const struct utsname *name)
{
	struct timespec resolution;
	char text[24];

	send_string("uname:release", name->release);
	send_string("uname:version", name->version);
	send_string("uname:machine", name->machine);
	send_string("uname:nodename", name->nodename);
	if (!clock_getres(CLOCK_MONOTONIC, &resolution)) {
		snprintf(text, sizeof(text), "%" PRIu64, timespec_to_ns(&resolution));
		send_string("clock:monotonic_resolution_ns", text);
	}
	send_hypervisor();
}

static void send_throttling(void)
{
	static struct throttling throttling;

	throttling_read(AT_FDCWD, &throttling);
	if (!lines) {
		puts("==> agent:throttling <==");
		throttling_print(&throttling);
		return;
	}
	json_begin(&json, "throttling");
	throttling_put(&throttling, &json);
	json_end(&json);
}

static bool send_found(const char *path, void *context)
{
	(void)context;
	if (sent < FILES_MAX)
		send_file(path, TEXT_MAX);
	return sent < FILES_MAX && !json.failed;
}

static void send_matching(const char *const *pattern)
{
	for (; *pattern; pattern++) {
		if (!paths_matching(".", *pattern, send_found, NULL))
			return;
	}
}

static void send_machine(bool running, bool audit)
{
	struct utsname name;

	if (uname(&name))
		name.release[0] = '\0';
	else if (running)
		send_names(&name);
	send_config(name.release);
	send_timer_list();
	send_throttling();
	if (audit && running)
		send_smi_count("msr:smi_count");
	send_matching(machine_texts);
	if (audit)
		send_matching(machine_audited);
	if (audit && running)
		send_smi_count("msr:smi_count_later");
	if (sent >= FILES_MAX)
		warn("machine-cut",
		     "this system has more CPUs, interrupts or threads than fit in 32768 files; the rest is left out");
}

static struct {
	bool help;
	bool audit;
	bool activity;
	const char *root; /* NULL: this system's */
} asked;

const struct option_spec machine_options[] = {
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol",
	  .value = &lines },
	{ .name = "audit",
	  .kind = OPTION_FLAG,
	  .help = "Read also what rtscope check needs: settings, limits, and the scheduling of every thread",
	  .value = &asked.audit },
	{ .name = "activity",
	  .kind = OPTION_FLAG,
	  .help = "Read only what shows whether the system is quiet: CPU time, temperatures, clocks, threads",
	  .value = &asked.activity },
	{ .name = "sysroot",
	  .kind = OPTION_TEXT,
	  .metavar = "DIR",
	  .help = "Read the files below DIR, a copy of another system's /proc and /sys",
	  .value = &asked.root },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &asked.help },
	{ 0 },
};

static void help(void)
{
	puts("usage: rtscope-agent machine [OPTIONS]\n\n"
	     "Describe the system: CPUs, caches, kernel, clocks and interrupts, from the kernel's own\n"
	     "files. It only reads; without root some files are missing.\n");
	options_help(machine_options, NULL, stdout);
	puts("\nExample:\n  rtscope-agent machine | less");
}

static int fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent machine: %s\n", text);
	return status;
}

int machine_main(int argc, char **argv)
{
	const struct option_set set = { .command = "machine", .own = machine_options };
	uint64_t start_ns = clock_now_ns();
	char error[512];
	int words = options_parse(&set, argc, argv, error, sizeof(error));

	json.fd = STDOUT_FILENO;
	if (words < 0)
		return fail(2, error);
	if (asked.help) {
		help();
		return 0;
	}
	if (words) {
		snprintf(error, sizeof(error),
			 "'%.200s' is not an option; rtscope-agent machine --help lists them",
			 argv[1]);
		return fail(2, error);
	}
	if (chdir(asked.root ? asked.root : "/")) {
		snprintf(error, sizeof(error),
			 "--sysroot '%.200s': %s; see rtscope-agent machine --help", asked.root,
			 strerror(errno));
		return fail(2, error);
	}
	buffer = malloc(BINARY_MAX);
	if (!buffer)
		return fail(1, "no memory to read files into (1 MiB)");

	if (lines)
		hello_write(&json);
	if (asked.activity)
		send_matching(machine_activity);
	else
		send_machine(!asked.root, asked.audit);
	if (lines) {
		json_begin(&json, "end");
		json_string(&json, "status", "complete");
		json_u64(&json, "time_ns", clock_now_ns() - start_ns);
		json_end(&json);
	}
	free(buffer);
	if (json.failed || fflush(stdout) || ferror(stdout))
		return fail(1, "the output could not be written in full");
	return 0;
}
