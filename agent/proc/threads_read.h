/* SPDX-License-Identifier: GPL-2.0-only */
/* Every thread of the system, read from /proc. */
#ifndef RTSCOPE_THREADS_READ_H
#define RTSCOPE_THREADS_READ_H

#include "base/cpulist.h"
#include "proc/thread.h"

struct reserved_list {
	char text[CPULIST_SIZE];
	cpu_set_t cpus;
};

/* CPUs that are reserved for real-time work, each list may be empty. */
struct reserved_cpus {
	struct reserved_list isolated;
	struct reserved_list nohz_full;
	struct reserved_list partition;
};

struct thread_list {
	struct thread *thread;
	size_t count;
	size_t room;
	struct reserved_cpus reserved;
	/* What could not be read. */
	unsigned int denied;		   /* processes whose folder may not be opened */
	unsigned int without_wait_channel; /* threads that wait at an unknown place */
	unsigned int waiting;
	bool coarse;	   /* CPU time in ticks: the kernel has no finer count */
	bool kernel_seen;  /* a thread of the kernel's own */
	bool memory_short; /* not all threads could be stored */
	/* The previous reading, by thread number. */
	struct thread_seen *seen;
	size_t seen_count;
};

/*
 * Read every thread, in the order of ranks. A thread that ends meanwhile is left out. Returns 0, or
 * -1 with errno if there is no /proc.
 */
int threads_read(struct thread_list *list);

#endif
