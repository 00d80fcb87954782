/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The description of a load, and the state of one of its workers.
 *
 * A load is a description: prepare() once in its directory, then in each
 * worker process setup() once and step() for ever. A step is one bounded piece
 * of work, so the agent knows that a worker works and a test can ask for
 * exactly so many. Everything random comes from the worker's own generator,
 * whose start is made of the seed, the load's name and the worker's index:
 * the same seed is the same work on another board.
 */
#ifndef RTSCOPE_WORKER_H
#define RTSCOPE_WORKER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "load/load.h"

/* One worker's share of the memory that the agent reads; a cache line of its own. */
struct worker_line {
	_Alignas(64) _Atomic uint64_t work[LOAD_UNITS_MAX];
	atomic_bool ready; /* has done a step, or its command has worked; or is not waited for */
};

/* A sentence that one of several processes may leave; the first one wins. */
struct message {
	atomic_int state;
	char code[24];
	char text[360];
};

/* One load's share of that memory. */
struct load_status {
	struct message failure; /* it could not start, or it has ended */
	struct message warning;
};

struct worker {
	const struct load *load;
	unsigned int index;
	unsigned int strength; /* workers of this load */
	uint64_t seed;	       /* of the whole set */
	uint64_t random;
	uint64_t check;	       /* folded from the results of every step */
	const char *directory; /* of this load alone; "" when it has none */
	const char *argument;  /* stress-ng:ARGS, cmd:COMMAND */
	struct worker_line *line;
	struct load_status *status;
	void *state;
};

struct load {
	const char *name;
	const char *help;
	const char *strength; /* what its strength counts; NULL: workers */
	const char *unit[LOAD_UNITS_MAX];
	bool external; /* takes the rest of the spec, counts nothing */
	bool needs_directory;
	/* Each returns 0, or -1 after worker_fail(). */
	int (*prepare)(struct worker *worker);
	int (*setup)(struct worker *worker);
	int (*step)(struct worker *worker);
};

extern const struct load load_cpu, load_memory, load_cache, load_files, load_disk, load_network,
	load_process, load_ipc, load_video, load_timers, load_stress_ng, load_cmd;

/* Give @worker the start that its seed, load and index ask for. */
void worker_seed(struct worker *worker);

/* The next 64 bits of the worker's generator (xorshift64*, Vigna 2016). */
static inline uint64_t worker_random(struct worker *worker)
{
	worker->random ^= worker->random >> 12;
	worker->random ^= worker->random << 25;
	worker->random ^= worker->random >> 27;
	return worker->random * 0x2545f4914f6cdd1dULL;
}

/* Even in [0, @bound); @bound is far below 2^32. */
static inline uint32_t worker_random_below(struct worker *worker, uint32_t bound)
{
	return (uint32_t)(((worker_random(worker) >> 32) * bound) >> 32);
}

static inline void worker_fold(struct worker *worker, uint64_t result)
{
	worker->check = (worker->check ^ result) * 0x100000001b3ULL;
}

/* Count work where only this process does. */
static inline void worker_count(struct worker *worker, unsigned int unit, uint64_t amount)
{
	_Atomic uint64_t *total = &worker->line->work[unit];

	atomic_store_explicit(total, atomic_load_explicit(total, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

/* Leave a sentence unless there is one already. */
void message_leave(struct message *message, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The sentence, or NULL. */
const char *message_text(const struct message *message);

/* "load files: " and a sentence; always returns -1. */
int worker_fail(struct worker *worker, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void worker_warn(struct worker *worker, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Zeroed memory for as long as the worker lives, or NULL after worker_fail(). */
void *worker_alloc(struct worker *worker, size_t size);

/* fork() for a child that must not outlive its parent. */
pid_t worker_fork(void);

/* "DIRECTORY/NAME" for the file @name of this load's directory. */
int worker_path(struct worker *worker, char path[PATH_MAX], const char *name);

#endif
