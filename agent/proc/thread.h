/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread as /proc describes it, and its rank among those that may preempt it. */
#ifndef RTSCOPE_THREAD_H
#define RTSCOPE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/realtime.h"

#define THREAD_NAME_SIZE 64 /* the kernel gives no more of its own threads' names */

/* Ranks: the lowest preempts the others. Those between are -1 - priority, and 20 + nice. */
#define RANK_STOP     (-102)
#define RANK_DEADLINE (-101)
#define RANK_IDLE     40
#define RANK_EXT      41

struct thread_times {
	uint64_t cpu_ns;
	uint64_t voluntary; /* switches: it waited */
	uint64_t forced;    /* it would have run on */
};

struct thread {
	int pid;
	int tid;
	int parent; /* the process that this one's is a child of */
	char name[THREAD_NAME_SIZE];
	char state;
	bool kernel;
	bool bound;	     /* the kernel does not allow to change its CPUs */
	unsigned int policy; /* the kernel's number */
	int priority;	     /* 1..99 for fifo and rr, else 0 */
	int nice;
	int rank;
	bool inherited; /* the rank is inherited from a thread that waits for this one */
	int cpu;
	bool isolated; /* runs on a CPU that is reserved for real-time work */
	uint64_t start_ticks;
	uint64_t ticks;	      /* of CPU time */
	uint64_t child_ticks; /* of children that it has waited for */
	struct reservation given;
	char *cpus; /* a list such as 0-3,8; NULL: not known */
	char wait_channel[THREAD_NAME_SIZE];
	char wait_module[THREAD_NAME_SIZE]; /* "": none, or not known */
	bool switches_known;
	struct thread_times times;
	struct thread_times since; /* the last reading */
};

/* Parse the text of /proc/PID/task/TID/stat; false if it is not such a text. */
bool thread_parse_stat(char *text, struct thread *thread);

/* Read the file "stat" in @directory, an open folder such as /proc/PID; false if it has ended. */
bool thread_read_stat(int directory, struct thread *thread);

/* Read /proc/TID/stat; false if the thread has ended. */
bool thread_read(int tid, struct thread *thread);

/* "fifo", "other" and so on; NULL for a policy of a kernel to come. */
const char *thread_policy_name(const struct thread *thread);

/* Whether it has, or has inherited, a real-time policy. */
bool thread_is_realtime(const struct thread *thread);

/* The number of the interrupt whose handler it runs; -1 for none. */
int thread_irq(const struct thread *thread);

/* Which soft interrupts it serves, such as "all" or "timers"; NULL for none. */
const char *thread_softirq(const struct thread *thread);

/* For qsort(): by rank, then by process and thread. */
int thread_order(const void *one, const void *other);

#endif
