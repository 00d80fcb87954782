/* SPDX-License-Identifier: GPL-2.0-only */
/* Every thread of the machine, read from /proc. */
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

struct thread_looks {
	struct thread *thread;
	size_t count;
	size_t room;
	struct reserved_cpus reserved;
	/* What could not be seen. */
	unsigned int denied;		   /* processes whose folder may not be opened */
	unsigned int without_wait_channel; /* threads that wait, nobody says where */
	unsigned int waiting;
	bool coarse;	   /* CPU time in ticks: the kernel counts no finer */
	bool kernel_seen;  /* a thread of the kernel's own */
	bool memory_short; /* not all threads could be kept */
	/* What the look before saw, by thread number. */
	struct thread_seen *seen;
	size_t seen_count;
};

/*
 * Look at every thread, the first in @looks->thread being who can preempt all
 * others. A thread that ends meanwhile is left out. Returns 0, or -1 with errno
 * where there is no /proc.
 */
int threads_read(struct thread_looks *looks);

#endif
