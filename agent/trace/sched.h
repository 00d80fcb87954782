/* SPDX-License-Identifier: GPL-2.0-only */
/* Scheduler events in raw pages of the ring buffer: who is woken, and who follows whom on a CPU. */
#ifndef RTSCOPE_TRACE_SCHED_H
#define RTSCOPE_TRACE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/instance.h"

#define TASK_NAME_SIZE 16

struct sched_task {
	int tid;
	char name[TASK_NAME_SIZE]; /* not always with a NUL at its end */
};

struct sched_event {
	uint64_t time_ns;
	unsigned int cpu;
	bool is_switch;		/* else a wake-up */
	bool stays_runnable;	/* a switch: @task was preempted, and did not go to sleep */
	struct sched_task task; /* that is woken, or that leaves the CPU */
	struct sched_task next; /* a switch: that gets the CPU */
};

typedef void sched_event_fn(const struct sched_event *event, void *data);

/* Read the formats of sched_switch and sched_waking. Returns false if the kernel lacks one. */
bool sched_events_open(const struct trace_instance *instance);

/* Call @take for each scheduler event of a page of @cpu, oldest first. */
void sched_events_of_page(const uint8_t *page, unsigned int cpu, sched_event_fn *take, void *data);

#endif
