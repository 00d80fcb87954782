// SPDX-License-Identifier: GPL-2.0-only
/* The table of commands. */
#include <stdio.h>
#include <string.h>

#include "base/hello.h"
#include "base/verbs.h"
#include "guest/pid1.h"
#include "load/load.h"
#include "probe/probe.h"
#include "proc/machine.h"
#include "proc/points.h"
#include "proc/symbols.h"
#include "proc/threads.h"
#include "session/describe.h"
#include "session/watchdog_connection.h"
#include "tune/tune.h"

#define TETHER "--tether="

#define PROBE(id) { .name = #id, .probe = &id##_probe }

const struct verb verbs[] = {
	PROBE(async),
	PROBE(cyclic),
	PROBE(daq),
	PROBE(event),
	PROBE(exec),
	PROBE(gtod),
	PROBE(loop),
	PROBE(memory),
	PROBE(migrate),
	PROBE(noise),
	PROBE(pi),
	PROBE(response),
	PROBE(scaling),
	PROBE(sched),
	PROBE(signal),
	PROBE(topology),
	{ "points", "a running program's measurement points", points_main, points_options, NULL },
	{ "threads", "the system's threads, in the order of preemption", threads_main,
	  threads_options, NULL },
	{ "tune", "tune the system for real-time work, and undo that", tune_main, tune_options,
	  NULL },
	{ "machine", "describe the system, from the kernel's own files", machine_main,
	  machine_options, NULL },
	{ "symbols", "addresses of the kernel's functions", symbols_main, symbols_options, NULL },
	{ "describe", "all commands and their options, as JSON", describe_main, NULL, NULL },
	{ 0 },
};

static void usage(FILE *out)
{
	fputs("usage: rtscope-agent COMMAND [OPTIONS]\n\n", out);
	for (const struct verb *verb = verbs; verb->name; verb++)
		fprintf(out, "  %-10s %s\n", verb->name,
			verb->probe ? verb->probe->summary : verb->summary);
	fputs("\nrtscope-agent COMMAND --help lists a command's options.\n"
	      "rtscope-agent --tether=TIME COMMAND ... ends as by Ctrl-C when standard input ends or\n"
	      "stays silent for TIME.\n",
	      out);
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("rtscope-agent %s (protocol %d)\n", RTSCOPE_VERSION, PROTOCOL_VERSION);
		return 0;
	}
	for (const struct verb *verb = verbs; verb->name; verb++) {
		if (strcmp(argv[1], verb->name) != 0)
			continue;
		if (verb->probe)
			return session_main(verb->probe, argc - 1, argv + 1);
		return verb->main(argc - 1, argv + 1);
	}
	fprintf(stderr, "rtscope-agent: no command '%s'; rtscope-agent --help lists them\n",
		argv[1]);
	return 2;
}

int main(int argc, char **argv)
{
	hello_loads = load_names();
	if (pid1_is_wanted(argv[0]))
		pid1_main(argc, argv);
	if (argc > 1 && !strncmp(argv[1], TETHER, strlen(TETHER)))
		return watchdog_connection_main(argv[1] + strlen(TETHER), run, argc - 1, argv + 1);
	return run(argc, argv);
}
