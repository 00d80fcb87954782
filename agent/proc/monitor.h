/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads, interrupts and CPUs that come, told by the kernel and not looked for. */
#ifndef RTSCOPE_MONITOR_H
#define RTSCOPE_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#define MONITOR_THREADS_MAX 512

enum monitored_threads {
	MONITOR_NO_THREADS,
	MONITOR_KERNEL_THREADS, /* only the kernel's own, such as interrupts' */
	MONITOR_ALL_THREADS,
};

enum monitor_source {
	MONITOR_PROCESSES,
	MONITOR_DEVICES,
	MONITOR_LINKS,
	MONITOR_SOURCES,
};

struct monitor {
	int fd[MONITOR_SOURCES]; /* becomes readable when there is news; -1: not listened to */
};

struct monitor_events {
	bool everything; /* a CPU has come or gone, or there were more news than could be kept */
	bool interrupts; /* a driver took a device or a network link changed */
	unsigned int count;
	int tid[MONITOR_THREADS_MAX]; /* that began, or have another name or user, each once */
};

/* Listen for CPUs, interrupts and @threads. Returns 0, or -1 with a sentence in @error. */
int monitor_open(struct monitor *from, enum monitored_threads threads, char *error,
		 size_t error_size);
void monitor_close(struct monitor *from);

/* Add to @news all that was told since. Does not wait. */
void monitor_read(const struct monitor *from, struct monitor_events *news);

/* Add @more to @news. */
void monitor_events_add(struct monitor_events *news, const struct monitor_events *more);

#endif
