// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache: random read-modify-write in a working set about the size of the
 * second cache, which turns out what a measurement keeps there and keeps the
 * TLB busy.
 */
#include "load/worker.h"
#include "proc/caches.h"

#define SET_UNKNOWN_BYTES (256 * 1024)
#define SET_MIN_BYTES	  (64 * 1024)
#define SET_MAX_BYTES	  (8 * 1024 * 1024)
#define UPDATES		  8192

struct cache_state {
	uint64_t *word;
	uint32_t words;
};

static int setup(struct worker *worker)
{
	struct cache_state *state = worker_alloc(worker, sizeof(*state));
	struct cache cache = { SET_UNKNOWN_BYTES, 1 };
	uint64_t most = memory_available() / 4 / worker->strength;

	if (!state)
		return -1;
	if (!cache_here(2, &cache))
		cache_here(1, &cache);
	if (cache.size > SET_MAX_BYTES)
		cache.size = SET_MAX_BYTES;
	if (most < SET_MIN_BYTES)
		most = SET_MIN_BYTES;
	if (cache.size > most)
		cache.size = most;
	state->words = (uint32_t)(cache.size / sizeof(*state->word));
	state->word = worker_alloc(worker, cache.size);
	worker->state = state;
	return state->word ? 0 : -1;
}

static int step(struct worker *worker)
{
	const struct cache_state *state = worker->state;
	uint64_t sum = 0;

	for (int i = 0; i < UPDATES; i++) {
		uint64_t random = worker_random(worker);
		uint32_t at = (uint32_t)(((random >> 32) * state->words) >> 32);

		sum += state->word[at] += random;
	}
	worker_fold(worker, sum);
	worker_count(worker, 0, UPDATES);
	return 0;
}

const struct load load_cache = {
	.name = "cache",
	.help = "random updates of a working set about the size of the second cache",
	.unit = { "updates" },
	.setup = setup,
	.step = step,
};
