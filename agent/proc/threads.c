// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb threads: all threads, in the order in which they can preempt each other.
 *
 * It runs on systems with deadlines, so it takes no policy of its own. It reports
 * what it could not read, because a reader would trust a table in which the thread
 * that matters is missing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/options.h"
#include "proc/polling.h"
#include "proc/threads.h"
#include "proc/threads_output.h"

#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define FIRST_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO */

static uint64_t interval_ns; /* 0: once */
static bool all;
static bool lines; /* JSON lines; else a table for a person */
static struct json json;
static struct thread_list list;
static uint64_t start_ns;
static uint64_t last_ns;

static bool wants_help;

const struct option_spec threads_options[] = {
	{ .name = "all",
	  .kind = OPTION_FLAG,
	  .help = "Every thread, not only those of a real-time policy or on an isolated CPU",
	  .value = &all },
	{ .name = "interval",
	  .letter = 'i',
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_SEC,
	  .min = INTERVAL_MIN_NS,
	  .help = "Read again at this interval until Ctrl-C, with CPU time and switches since then",
	  .value = &interval_ns },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol, with every thread",
	  .value = &lines },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &wants_help },
	{ 0 },
};

static void help(void)
{
	puts("usage: rtscope-agent threads [OPTIONS]\n\n"
	     "List the threads, kernel and user, that have a real-time policy or sit on an isolated CPU,\n"
	     "those that preempt the others first.\n");
	options_help(threads_options, NULL, stdout);
	puts("\nExamples:\n"
	     "  rtscope-agent threads\n"
	     "  rtscope-agent threads --all --interval 5 | grep -w LLRFControl");
}

static int fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent threads: %s\n", text);
	return status;
}

static void warn(const char *code, const char *text)
{
	warning_report(lines ? &json : NULL, code, text);
}

/* Returns 0, 1 after help, or -1 with a sentence in @error. */
static int parse(int argc, char **argv, char *error, size_t error_size)
{
	const struct option_set set = { .command = "threads", .own = threads_options };
	int words = options_parse(&set, argc, argv, error, error_size);

	if (words < 0)
		return -1;
	if (wants_help) {
		help();
		return 1;
	}
	if (!words)
		return 0;
	snprintf(error, error_size,
		 "'%.200s' is not an option; rtscope-agent threads --help lists them", argv[1]);
	return -1;
}

static void warn_of_hidden(void)
{
	char namespace[64] = "";

	if (readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1) > 0 &&
	    strcmp(namespace, FIRST_NAMESPACE) != 0)
		warn("threads-hidden",
		     "this is a container: kernel threads and threads outside of it are not visible; run the agent on the host");
	else
		warn("threads-hidden",
		     "kernel threads are not visible, and perhaps others neither: /proc is mounted with hidepid, or is another system's; run as root");
}

/* Warn once of each thing that could not be read. */
static void warn_of_unseen(void)
{
	static bool warned_hidden, warned_denied, warned_channels, warned_coarse, warned_memory;
	char text[256];

	if (list.denied && !warned_denied) {
		warned_denied = true;
		snprintf(text, sizeof(text),
			 "cannot read %u of the processes (/proc is mounted with hidepid): their threads are missing; run as root",
			 list.denied);
		warn("threads-denied", text);
	} else if (!list.kernel_seen && !warned_hidden) {
		warned_hidden = true;
		warn_of_hidden();
	}
	if (list.without_wait_channel && !warned_channels &&
	    (geteuid() || list.without_wait_channel == list.waiting)) {
		warned_channels = true;
		snprintf(text, sizeof(text),
			 "where %u of %u waiting threads wait is unknown: run as root, on a kernel with CONFIG_KALLSYMS",
			 list.without_wait_channel, list.waiting);
		warn("wait-channels-denied", text);
	}
	if (list.coarse && !warned_coarse) {
		warned_coarse = true;
		warn("cpu-time-coarse",
		     "CPU times are counted in ticks of 10 ms: this kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)");
	}
	if (list.memory_short && !warned_memory) {
		warned_memory = true;
		warn("threads-cut", "out of memory: not all threads are listed");
	}
}

static int show(void)
{
	uint64_t now_ns = clock_now_ns(), since_ns = last_ns ? now_ns - last_ns : 0;

	if (threads_read(&list))
		return -1;
	last_ns = now_ns;
	warn_of_unseen();
	if (lines)
		threads_send(&json, &list, now_ns - start_ns, since_ns);
	else
		threads_print(&list, all, since_ns);
	return 0;
}

/* Read at each interval until a signal comes or nobody reads; a reading that took longer skips some. */
static void watch(void)
{
	uint64_t next_ns = start_ns + interval_ns;

	while (polling_wait(&json, interval_ns)) {
		if (clock_now_ns() < next_ns)
			continue;
		show();
		while (next_ns <= clock_now_ns())
			next_ns += interval_ns;
	}
}

int threads_main(int argc, char **argv)
{
	char error[512];
	int parsed = parse(argc, argv, error, sizeof(error));

	json.fd = STDOUT_FILENO;
	if (parsed)
		return parsed > 0 ? 0 : fail(2, error);
	if (access("/proc/self/stat", R_OK))
		return fail(1, "there is no /proc to read threads from: mount -t proc proc /proc");
	start_ns = clock_now_ns();
	polling_begin();
	if (lines)
		hello_write(&json);
	if (show())
		return fail(1, strerror(errno));
	if (interval_ns)
		watch();
	if (lines)
		polling_end(&json, interval_ns ? "interrupted" : "complete",
			    clock_now_ns() - start_ns);
	return json.failed || fflush(stdout) || ferror(stdout) ?
		       fail(1, "the output could not be written in full") :
		       0;
}
