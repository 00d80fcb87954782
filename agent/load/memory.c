// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory: streams through buffers that no cache holds, as McCalpin's STREAM
 * does: copy, scale, add and triad, each over whole arrays before the next, so
 * that a measurement shares the memory bus. Bytes are counted as STREAM does.
 *
 * The workers that share a last-level cache stream over four times its size
 * together, but never over more than a quarter of the memory that is free: a
 * board with 16 MB must survive its load.
 */
#include "load/worker.h"
#include "proc/caches.h"

#define CHUNK_BYTES	    (32 * 1024)
#define CHUNK_WORDS	    (CHUNK_BYTES / sizeof(double))
#define CACHE_UNKNOWN_BYTES (4UL * 1024 * 1024)

struct memory_state {
	double *a, *b, *c;
	size_t chunks; /* in each */
	size_t at;
	unsigned int kernel;
};

static size_t array_bytes(const struct worker *worker)
{
	struct cache cache = { CACHE_UNKNOWN_BYTES, 1 };
	uint64_t most = memory_available() / 4 / worker->strength;
	uint64_t bytes;

	cache_here(0, &cache);
	if (cache.shared_by > worker->strength)
		cache.shared_by = worker->strength;
	bytes = 4 * (uint64_t)cache.size / cache.shared_by;
	if (bytes > most)
		bytes = most;
	bytes = bytes / 3 / CHUNK_BYTES * CHUNK_BYTES;
	return bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes;
}

static int setup(struct worker *worker)
{
	struct memory_state *state = worker_alloc(worker, sizeof(*state));
	size_t bytes = array_bytes(worker);
	size_t words = bytes / sizeof(double);

	if (!state)
		return -1;
	state->a = worker_alloc(worker, 3 * bytes);
	if (!state->a)
		return -1;
	state->b = state->a + words;
	state->c = state->b + words;
	state->chunks = bytes / CHUNK_BYTES;
	worker->state = state;
	return 0;
}

static int step(struct worker *worker)
{
	struct memory_state *state = worker->state;
	double *a = state->a + state->at * CHUNK_WORDS;
	double *b = state->b + state->at * CHUNK_WORDS;
	double *c = state->c + state->at * CHUNK_WORDS;
	double scale = 1.0 + (double)(int32_t)worker_random_below(worker, 1000) / 1e6;

	switch (state->kernel) {
	case 0:
		for (size_t i = 0; i < CHUNK_WORDS; i++)
			c[i] = a[i];
		break;
	case 1:
		for (size_t i = 0; i < CHUNK_WORDS; i++)
			b[i] = scale + c[i];
		break;
	case 2:
		for (size_t i = 0; i < CHUNK_WORDS; i++)
			c[i] = a[i] + b[i];
		break;
	default:
		for (size_t i = 0; i < CHUNK_WORDS; i++)
			a[i] = 0.5 * b[i] - 0.25 * c[i];
	}
	worker_fold(worker, (uint64_t)(int64_t)((a[0] + b[0] + c[0]) * 1e9));
	worker_count(worker, 0, (state->kernel < 2 ? 2 : 3) * CHUNK_BYTES);
	state->at = (state->at + 1) % state->chunks;
	if (state->at == 0)
		state->kernel = (state->kernel + 1) % 4;
	return 0;
}

const struct load load_memory = {
	.name = "memory",
	.help = "streams larger than the last cache",
	.unit = { "bytes" },
	.setup = setup,
	.step = step,
};
