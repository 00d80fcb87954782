/* SPDX-License-Identifier: GPL-2.0-only */
/* Work of two CPUs at once for topology: the kinds of work and the messages. */
#ifndef RTSCOPE_TOPOLOGY_WORK_H
#define RTSCOPE_TOPOLOGY_WORK_H

#include <stdbool.h>

#include "probe/workers.h"

#define MESSAGES_TIMED 64 /* round trips between two readings of the clock */

enum kind {
	KIND_SCALAR,
	KIND_VECTOR,
	KIND_L1,
	KIND_L2,
	KIND_L3,
	KIND_MEMORY,
	KINDS,
};

extern const char *const kind_names[KINDS];

/* Choose the working sets by @cpu's caches and the free memory; warns of omitted ones. */
void kinds_choose(unsigned int cpu);

bool kind_is_measured(enum kind kind);

/* Work of this kind by the first (0) or the second (1) of a pair. */
struct job kind_job(enum kind kind, unsigned int side);

/* Whether all working sets could be had; known once each CPU was both sides once. */
bool kinds_had_memory(void);

/* The side that sends first, or the side that answers. */
struct job message_job(unsigned int side);

/* Median time from one CPU to the other in the slot that was last; 0 where none arrived. */
double message_ns(void);

#endif
