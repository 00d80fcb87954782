/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring of samples from one measuring thread to the housekeeping thread.
 *
 * One producer, one consumer, no lock: the producer never waits. When the
 * consumer falls behind, samples are dropped and counted, never overwritten.
 */
#ifndef RTSCOPE_RING_H
#define RTSCOPE_RING_H

#include <stdbool.h>
#include <stdint.h>

struct ring_sample {
	uint64_t time_ns;
	uint64_t latency_ns;
};

struct ring {
	uint64_t head __attribute__((aligned(64))); /* written by the producer */
	uint64_t dropped;
	uint64_t tail __attribute__((aligned(64)));  /* written by the consumer */
	uint64_t slots __attribute__((aligned(64))); /* a power of two */
	struct ring_sample slot[];
};

static inline void ring_push(struct ring *ring, uint64_t time_ns, uint64_t latency_ns)
{
	uint64_t head = ring->head;

	if (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= ring->slots) {
		__atomic_store_n(&ring->dropped, ring->dropped + 1, __ATOMIC_RELAXED);
		return;
	}
	ring->slot[head & (ring->slots - 1)] = (struct ring_sample){ time_ns, latency_ns };
	__atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
}

static inline bool ring_is_empty(const struct ring *ring)
{
	return ring->tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

/* Whether so much is used that it has to be emptied, with room left for what comes meanwhile. */
static inline bool ring_is_filling(const struct ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - ring->tail > ring->slots / 4;
}

static inline bool ring_pop(struct ring *ring, struct ring_sample *sample)
{
	uint64_t tail = ring->tail;

	if (tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE))
		return false;
	*sample = ring->slot[tail & (ring->slots - 1)];
	__atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

#endif
