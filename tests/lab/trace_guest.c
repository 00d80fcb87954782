// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine whose kernel's tracing is tested: it lets each
 * tracer trace the same little work and writes what it traced behind a line
 * "@ TRACER". The last is "@ clock": what the trace's clock and CLOCK_MONOTONIC
 * said beside each other, for longer than any 32-bit counter of the emulated
 * boards takes to begin anew.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_port.h"

#define LINES_MAX 150
#define APART	  37 /* lines, so that no loop of a few functions is all there is */
#define MARKS	  150
#define MARK_US	  200000
#define PRIORITY  80
#define ROUNDS	  20
#define ROUND_US  1000

static const char *const tracers[] = {
	"function", "function_graph", "irqsoff", "preemptoff", "wakeup_rt",
};

static void set(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/t/%s", name);
	if (!put(path, text))
		printf("@ failed: cannot write '%s' to %s: %m\n", text, path);
}

/* So many lines of the trace, -1 for all; of each @apart the first. */
static void show(int lines_max, int apart)
{
	FILE *trace = fopen("/t/trace", "r");
	char line[512];

	if (!trace) {
		printf("@ failed: cannot read the trace: %m\n");
		return;
	}
	for (int number = 0; lines_max && fgets(line, sizeof(line), trace); number++) {
		if (*line != '#' && number % apart)
			continue;
		fputs(line, stdout);
		lines_max--;
	}
	fclose(trace);
}

/* A real-time thread that its timer wakes, and children that start and end meanwhile. */
static void work(void)
{
	pid_t sleeper = fork();

	if (!sleeper) {
		schedule_as(SCHED_FIFO, PRIORITY);
		for (int round = 0; round < ROUNDS; round++)
			usleep(ROUND_US);
		_exit(0);
	}
	for (int round = 0; round < ROUNDS; round++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	waitpid(sleeper, NULL, 0);
}

static void trace(const char *tracer)
{
	printf("@ %s\n", tracer);
	set("trace", "");
	set("current_tracer", tracer);
	set("tracing_max_latency", "0");
	set("tracing_on", "1");
	work();
	set("tracing_on", "0");
	show(LINES_MAX, strncmp(tracer, "function", strlen("function")) ? 1 : APART);
	set("current_tracer", "nop");
}

static void trace_clock(void)
{
	printf("@ clock\n");
	set("trace", "");
	set("tracing_on", "1");
	for (int mark = 0; mark < MARKS; mark++) {
		long long ns = now_ns();
		char text[64];

		snprintf(text, sizeof(text), "monotonic %lld.%09lld", ns / 1000000000,
			 ns % 1000000000);
		set("trace_marker", text);
		usleep(MARK_US);
	}
	show(-1, 1);
}

int main(void)
{
	port_open();
	mount_at("/t", "tracefs");
	set("buffer_size_kb", "256");
	for (size_t i = 0; i < COUNT(tracers); i++)
		trace(tracers[i]);
	trace_clock();
	port_end();
}
