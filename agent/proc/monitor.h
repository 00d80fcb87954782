/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process and hotplug monitor: the kernel reports new threads, interrupts and CPUs, so that
 * nothing has to be polled.
 */
#ifndef RTSCOPE_MONITOR_H
#define RTSCOPE_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#define MONITOR_THREADS_MAX 512

enum monitored_threads {
	MONITOR_NO_THREADS,
	MONITOR_KERNEL_THREADS, /* kernel threads only, such as those of interrupts */
	MONITOR_ALL_THREADS,
};

enum monitor_source {
	MONITOR_PROCESSES,
	MONITOR_DEVICES,
	MONITOR_LINKS,
	MONITOR_SOURCES,
};

struct monitor {
	int fd[MONITOR_SOURCES]; /* readable when there are events; -1: not open */
};

struct monitor_events {
	bool everything; /* a CPU came or went, or events were lost */
	bool interrupts; /* a driver was bound to a device or a network link changed */
	unsigned int count;
	int tid[MONITOR_THREADS_MAX]; /* threads that began, or changed name or user, each once */
};

/* Monitor CPUs, interrupts and @threads. Returns 0, or -1 with a sentence in @error. */
int monitor_open(struct monitor *from, enum monitored_threads threads, char *error,
		 size_t error_size);
void monitor_close(struct monitor *from);

/* Add to @events all that were reported since. Does not wait. */
void monitor_read(const struct monitor *from, struct monitor_events *events);

/* Add @more to @events. */
void monitor_events_add(struct monitor_events *events, const struct monitor_events *more);

#endif
