// SPDX-License-Identifier: GPL-2.0-only
/*
 * Being the first and only program of an emulated machine.
 *
 * The kernel starts the agent as /init of an initramfs that holds little else:
 *
 *	/rtscope.modules	modules to load, in this order: a path and its parameters a line;
 *				without one that has a "!" before it the machine ends
 *	/rtscope.run		commands for /bin/busybox sh, one a line, in this order; where one fails
 *				the machine ends
 *	/rtscope.args		variables as below, then the verb and its options, one a line
 *
 * and with these variables from its command line:
 *
 *	rtscope_channel=/dev/ttyS1	where the verb's lines go
 *	rtscope_samples=/dev/ttyS2	where its --samples-file=/samples/all goes after its end:
 *					its size in bytes in a line, then all of it
 *	rtscope_send=1			0: the samples are not sent
 *	rtscope_seed=1			what the machine is varied by before the verb starts
 *	rtscope_snapshot=1		stop for a snapshot once the boot is over
 *
 * What is restored from the snapshot finds its arguments in the emulator's
 * opt/rtscope/args in place of /rtscope.args. Without either the words after
 * "--" on the kernel's command line are the verb. Errors go to the console.
 *
 * The channel is a serial port of its own, because one byte of the kernel's or
 * ours in the middle of a measurement costs more than what is measured. For the
 * same reason the kernel log is quiet; the kernel's warnings reach the
 * console after the verb's end. The channel is the verb's controlling terminal,
 * so that Control-C sent from outside interrupts it. The machine ends by a
 * reset: that is what every emulated board can do, and the emulator is configured to
 * end then.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/syslog.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/hello.h"
#include "guest/pid1.h"
#include "guest/settle.h"
#include "guest/snapshot.h"
#include "guest/variation.h"

#define ARGUMENTS "/rtscope.args"
#define RESTORED  "/sys/firmware/qemu_fw_cfg/by_name/opt/rtscope/args/raw"
#define MODULES	  "/rtscope.modules"
#define COMMANDS  "/rtscope.run"
#define SHELL	  "/bin/busybox"
#define SAMPLES	  "/samples/all"
#define WORDS_MAX 128
#define LINE_SIZE 4096

static const struct {
	const char *type, *path, *options;
} mounts[] = {
	{ "proc", "/proc", NULL },
	{ "sysfs", "/sys", NULL },
	{ "devtmpfs", "/dev", NULL },
	{ "debugfs", "/sys/kernel/debug", NULL },
	{ "tmpfs", "/tmp", NULL },
	{ "tmpfs", "/samples", "size=25%" }, /* a long run fills it: loads keep the rest */
};

#define CGROUPS "/sys/fs/cgroup" /* the kernel makes it, where it has them */

bool pid1_is_wanted(const char *name)
{
	const char *slash;

	if (getpid() != 1)
		return false;
	slash = strrchr(name, '/');
	return !strcmp(slash ? slash + 1 : name, "init");
}

static void complain(const char *what, const char *name)
{
	fprintf(stderr, "rtscope-agent: cannot %s %s: %s\n", what, name, strerror(errno));
}

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].path, 0755);
		if (mount(mounts[i].type, mounts[i].path, mounts[i].type, 0, mounts[i].options))
			complain("mount", mounts[i].path);
	}
	if (!access(CGROUPS, F_OK) && mount("cgroup2", CGROUPS, "cgroup2", 0, NULL))
		complain("mount", CGROUPS);
}

/* The console in the initramfs may be missing, that of devtmpfs is not. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	for (int standard = 0; standard < 3; standard++)
		dup2(fd, standard);
	if (fd > 2)
		close(fd);
}

static bool load_module(char *path)
{
	char *parameters = strchr(path, ' ');
	bool loaded;
	int fd;

	if (parameters)
		*parameters++ = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	loaded = fd >= 0 && !syscall(SYS_finit_module, fd, parameters ? parameters : "", 0);
	if (!loaded)
		complain("load the module", path);
	if (fd >= 0)
		close(fd);
	return loaded;
}

/* False where one is missing that has to be there. */
static bool load_modules(void)
{
	FILE *file = fopen(MODULES, "re");
	char line[LINE_SIZE];
	bool all = true;

	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		bool needed = *line == '!';

		line[strcspn(line, "\n")] = '\0';
		if (!load_module(line + needed) && needed)
			all = false;
	}
	fclose(file);
	return all;
}

static void bring_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		complain("bring up", "lo");
	if (fd >= 0)
		close(fd);
}

static bool is_variable(const char *word)
{
	return *word != '-' && strchr(word, '=');
}

/* Fills @words with the verb and its options; returns their number, or -1 without the file. */
static int read_arguments(const char *path, char **words)
{
	FILE *file = fopen(path, "re");
	char line[LINE_SIZE];
	int count = 0;

	if (!file)
		return -1;
	while (count < WORDS_MAX && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line)
			break;
		words[count] = strdup(line);
		if (count || !is_variable(line))
			count++;
		else
			putenv(words[0]);
	}
	fclose(file);
	return count;
}

static int given_arguments(int argc, char **argv, char **words)
{
	int count = 0;

	while (count + 1 < argc && count < WORDS_MAX) {
		words[count] = argv[count + 1];
		count++;
	}
	return count;
}

/* A serial port that passes every byte as it is, but for Control-C from outside. */
static int open_port(const char *path)
{
	struct termios settings;
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &settings))
		return fd;
	cfmakeraw(&settings);
	cfsetspeed(&settings, B115200);
	settings.c_lflag |= ISIG;
	memset(settings.c_cc, 0, sizeof(settings.c_cc)); /* 0 is no character at all */
	settings.c_cc[VINTR] = 3;
	settings.c_cc[VMIN] = 1;
	settings.c_cflag |= CLOCAL;
	tcsetattr(fd, TCSANOW, &settings);
	return fd;
}

/* A program that is started anew is laid out in memory anew. */
static __attribute__((noreturn)) void run_verb(int channel, char **words)
{
	if (channel >= 0)
		dup2(channel, STDOUT_FILENO);
	execv("/proc/self/exe", words);
	complain("start", words[0]);
	_exit(1);
}

/* Returns whether it ended with status 0. */
static bool wait_for(pid_t child, const char *command)
{
	int status = 0;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, 0);
	} while (pid != child && (pid > 0 || errno == EINTR));
	if (WIFSIGNALED(status))
		fprintf(stderr, "rtscope-agent: %s was ended by signal %d\n", command,
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "rtscope-agent: %s ended with status %d\n", command,
			WEXITSTATUS(status));
	return !status;
}

static bool run_command(char *command)
{
	char *const words[] = { "sh", "-c", command, NULL };
	pid_t child = fork();

	if (!child) {
		execv(SHELL, words);
		complain("start", SHELL);
		_exit(1);
	}
	if (child < 0)
		complain("start", "a process");
	return child > 0 && wait_for(child, command);
}

/* False where one failed. */
static bool run_commands(void)
{
	FILE *file = fopen(COMMANDS, "re");
	char line[LINE_SIZE];
	bool all = true;

	if (!file)
		return true;
	while (all && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		all = run_command(line);
	}
	fclose(file);
	return all;
}

static void send_samples(void)
{
	const char *channel = getenv("rtscope_samples"), *wanted = getenv("rtscope_send");
	int to, from = open(SAMPLES, O_RDONLY | O_CLOEXEC);
	char buffer[4096];
	struct stat file;
	ssize_t size;

	if (from < 0 || !channel || (wanted && !strcmp(wanted, "0")) || fstat(from, &file))
		return;
	to = open_port(channel);
	if (to < 0) {
		complain("open the channel for samples", channel);
		return;
	}
	dprintf(to, "%lld\n", (long long)file.st_size);
	while ((size = read(from, buffer, sizeof(buffer))) > 0) {
		for (ssize_t sent = 0, part; sent < size; sent += part) {
			part = write(to, buffer + sent, (size_t)(size - sent));
			if (part < 0) {
				complain("write to", channel);
				return;
			}
		}
	}
	tcdrain(to);
}

/* More severe ones are on the console already: it is quiet, not silent. */
static void report_warnings(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[LINE_SIZE * 2];
	ssize_t size;

	if (fd < 0)
		return;
	while ((size = read(fd, record, sizeof(record) - 1)) > 0 || (size < 0 && errno == EPIPE)) {
		char *text;

		record[size > 0 ? size : 0] = '\0';
		text = strchr(record, ';');
		if (text && (strtoul(record, NULL, 10) & LOG_PRIMASK) == LOG_WARNING)
			fprintf(stderr, "%.*s\n", (int)strcspn(text + 1, "\n"), text + 1);
	}
	close(fd);
}

static __attribute__((noreturn)) void end_machine(void)
{
	report_warnings();
	tcdrain(STDERR_FILENO);
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void do_verb(char **words)
{
	const char *path = getenv("rtscope_channel");
	int channel = path ? open_port(path) : -1;
	pid_t child;

	if (path && channel < 0) {
		complain("open the channel", path);
		return;
	}
	/* Its own: what a terminal has yet to send is lost with the session that ends. */
	setsid();
	if (channel >= 0)
		ioctl(channel, TIOCSCTTY, 0);
	child = fork();
	if (!child)
		run_verb(channel, words);
	if (child < 0)
		complain("start", "a process");
	else
		wait_for(child, words[1]);
	if (channel >= 0)
		tcdrain(channel);
}

void pid1_main(int argc, char **argv)
{
	char *words[WORDS_MAX + 2] = { "rtscope-agent" }, why[256];
	const char *seed;
	int count;

	mount_all();
	open_console();
	if (!load_modules())
		end_machine();
	bring_up_loopback();
	if (!run_commands())
		end_machine();
	if (!settle(why, sizeof(why)))
		setenv(HELLO_UNSETTLED, why, 1);
	if (!getenv("rtscope_snapshot"))
		count = read_arguments(ARGUMENTS, words + 1);
	else if (snapshot_stop())
		count = read_arguments(RESTORED, words + 1);
	else
		end_machine();
	if (count < 0)
		count = given_arguments(argc, argv, words + 1);
	seed = getenv("rtscope_seed");
	if (seed)
		variation_apply(seed);
	if (count)
		do_verb(words);
	send_samples();
	end_machine();
}
