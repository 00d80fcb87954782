// SPDX-License-Identifier: GPL-2.0-only
/* The verb table, nothing else. */
#include <stdio.h>
#include <string.h>

#include "base/hello.h"
#include "base/verbs.h"
#include "guest/pid1.h"
#include "load/load.h"
#include "load/load.h"
#include "probe/probe.h"
#include "proc/machine.h"
#include "proc/points.h"
#include "proc/symbols.h"
#include "proc/threads.h"
#include "session/watchdog_connection.h"
#include "tune/tune.h"

#define TETHER "--tether="

const struct verb verbs[] = {
	{ "async", "from signalling a thread until it runs", async_main, true },
	{ "cyclic", "how late a thread wakes from a timed sleep", cyclic_main, true },
	{ "daq", "how long after its interrupt a program has a digitizer's data", daq_main, true },
	{ "event", "how long a device's interrupt takes to reach a program", event_main, true },
	{ "exec", "how long a command takes on some CPUs", exec_main, true },
	{ "gtod", "what reading the clock costs, and how finely it tells the time", gtod_main,
	  true },
	{ "loop", "how regular a periodic loop is, seen from another CPU", loop_main, true },
	{ "memory", "how fast memory answers, and who slows it for whom", memory_main, true },
	{ "migrate", "whether the N highest threads run on the N CPUs", migrate_main, true },
	{ "noise", "how much of its CPU a spinning thread is robbed of", noise_main, true },
	{ "pi", "how long a priority inversion makes a thread wait", pi_main, true },
	{ "scaling", "how long a parallel algorithm takes on some CPUs", scaling_main, true },
	{ "sched", "how late a periodic thread starts its work", sched_main, true },
	{ "signal", "how long an event takes to reach a program as a signal", signal_main, true },
	{ "topology", "which CPUs share something, and how fast they reach each other",
	  topology_main, true },
	{ "points", "a running program's measurement points", points_main, false },
	{ "threads", "the machine's threads, who can preempt whom first", threads_main, false },
	{ "tune", "changes the machine for real-time work, and takes that back", tune_main, false },
	{ "machine", "what this machine is: the kernel's own files", machine_main, false },
	{ "symbols", "where the kernel's functions are", symbols_main, false },
	{ 0 },
};

static void usage(FILE *out)
{
	fputs("usage: rtscope-agent VERB [OPTIONS]\n\n", out);
	for (const struct verb *verb = verbs; verb->name; verb++)
		fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
	fputs("\nrtscope-agent VERB --help tells a verb's options.\n"
	      "rtscope-agent --tether=TIME VERB ... ends as by Ctrl-C when standard input ends or\n"
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
		if (!strcmp(argv[1], verb->name))
			return verb->main(argc - 1, argv + 1);
	}
	fprintf(stderr, "rtscope-agent: no verb '%s'; rtscope-agent --help lists them\n", argv[1]);
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
