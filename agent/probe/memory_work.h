/* SPDX-License-Identifier: GPL-2.0-only */
/* What CPUs do to memory for the probe memory: the victims' works and the aggressors'. */
#ifndef RTSCOPE_MEMORY_WORK_H
#define RTSCOPE_MEMORY_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/workers.h"

enum access {
	ACCESS_CHASE,
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_COPY,
	ACCESSES,
};

enum aggressor {
	AGGRESSOR_STREAMS,
	AGGRESSOR_WRITES,
	AGGRESSOR_ATOMICS,
	AGGRESSOR_PAGES,
	AGGRESSOR_FILES,
	AGGRESSOR_FLUSHES,
	AGGRESSORS,
};

extern const char *const aggressor_names[AGGRESSORS];

/* Whether this architecture lets a program do it. */
bool aggressor_is_possible(enum aggressor aggressor);

/*
 * Prepare for @count fields, pieces of memory that one CPU works on, in huge pages of @huge bytes
 * or, for 0, in ordinary ones; 0 or -1.
 */
int fields_init(unsigned int count, size_t huge);

/* Field @index has room for @size bytes, a multiple of 8192, in whole pages. */
void field_room(unsigned int index, size_t size);

/* Bytes of all fields that were worked on. */
uint64_t fields_mapped(void);

/* Whether there was memory for each field that was worked on. */
bool fields_had_memory(void);

/*
 * On the first @size bytes of a field, a multiple of 4096. A chase is prepared twice: first it
 * links the lines, which stay so as long as the next one is as long and nothing is written, then it
 * goes round once. It counts loads, the others bytes; a copy, from one half to the other, those
 * that are copied.
 */
struct job access_job(unsigned int index, enum access access, size_t size);

/* A chase that finds its set where reading it straight through leaves it. */
struct job victim_job(unsigned int index, size_t size);

/* Disturb by work on all of a field. */
struct job aggressor_job(unsigned int index, enum aggressor aggressor);

#endif
