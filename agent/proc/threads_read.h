/* SPDX-License-Identifier: GPL-2.0-only */
/* Every thread of the machine, read from /proc. */
#ifndef RTSCOPE_THREADS_READ_H
#define RTSCOPE_THREADS_READ_H

#include "proc/thread.h"

#define CPU_LIST_SIZE 4096

/* CPUs that are kept for real-time work, each a list that may be empty. */
struct kept_cpus {
	char isolated[CPU_LIST_SIZE];
	char nohz_full[CPU_LIST_SIZE];
	char partition[CPU_LIST_SIZE];
};

struct thread_looks {
	struct thread *thread;
	size_t count;
	size_t room;
	struct kept_cpus kept;
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
