/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads, interrupts and CPUs that come, told by the kernel and not looked for. */
#ifndef RTSCOPE_NEWCOMERS_H
#define RTSCOPE_NEWCOMERS_H

#include <stdbool.h>
#include <stddef.h>

#define NEWCOMERS_MAX 512

enum newcomers_threads {
	NEWCOMERS_NO_THREADS,
	NEWCOMERS_KERNEL_THREADS, /* only the kernel's own, such as interrupts' */
	NEWCOMERS_ALL_THREADS,
};

enum newcomers_source {
	NEWCOMERS_PROCESSES,
	NEWCOMERS_DEVICES,
	NEWCOMERS_LINKS,
	NEWCOMERS_SOURCES,
};

struct newcomers {
	int fd[NEWCOMERS_SOURCES]; /* becomes readable when there is news; -1: not listened to */
};

struct news {
	bool everything; /* a CPU has come or gone, or there were more news than could be kept */
	bool interrupts; /* a driver took a device or a network link changed */
	unsigned int count;
	int tid[NEWCOMERS_MAX]; /* that began, or have another name or user, each once */
};

/* Listen for CPUs, interrupts and @threads. Returns 0, or -1 with a sentence in @error. */
int newcomers_open(struct newcomers *from, enum newcomers_threads threads, char *error,
		   size_t error_size);
void newcomers_close(struct newcomers *from);

/* Add to @news all that was told since. Does not wait. */
void newcomers_read(const struct newcomers *from, struct news *news);

/* Add @more to @news. */
void news_add(struct news *news, const struct news *more);

#endif
