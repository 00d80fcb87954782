/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A histogram of nanoseconds that loses nothing.
 *
 * Exact to 1 ns below 2048 ns; above, every power of two is cut into 1024
 * buckets, so that a bucket is never wider than 1/1024 (0.098 %) of what it
 * holds. The last bucket ends at 2^63: there is no overflow. The size is
 * fixed, so memory does not grow with the length of a run. The log-linear
 * layout is the one HdrHistogram made known.
 *
 * One thread adds; others may read while it does and see each count a moment
 * late, never torn.
 */
#ifndef RTSCOPE_HISTOGRAM_H
#define RTSCOPE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS    10
#define HISTOGRAM_SUB_COUNT   (1U << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_EXACT_BELOW (2U * HISTOGRAM_SUB_COUNT)
#define HISTOGRAM_MAX_NS      ((uint64_t)INT64_MAX)
#define HISTOGRAM_BUCKETS     ((62 - HISTOGRAM_SUB_BITS) * HISTOGRAM_SUB_COUNT + HISTOGRAM_EXACT_BELOW)

/* A coarse view: 32 buckets for each power of two from 32 ns on, each made of whole buckets. */
#define HISTOGRAM_COARSE_BITS	 5
#define HISTOGRAM_COARSE_BUCKETS ((64 - HISTOGRAM_COARSE_BITS) << HISTOGRAM_COARSE_BITS)

struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
};

/* Bucket of @ns, which must not exceed HISTOGRAM_MAX_NS. */
static inline unsigned int histogram_index(uint64_t ns)
{
	unsigned int shift;

	if (ns < HISTOGRAM_EXACT_BELOW)
		return (unsigned int)ns;
	shift = 63 - HISTOGRAM_SUB_BITS - (unsigned int)__builtin_clzll(ns);
	return (shift << HISTOGRAM_SUB_BITS) + (unsigned int)(ns >> shift);
}

static inline void histogram_add(struct histogram *histogram, uint64_t ns)
{
	uint64_t *count = &histogram->count[histogram_index(ns)];

	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

static inline uint64_t histogram_count(const struct histogram *histogram, unsigned int index)
{
	return __atomic_load_n(&histogram->count[index], __ATOMIC_RELAXED);
}

/* Smallest latency that bucket @index holds, and how many nanoseconds it spans. */
uint64_t histogram_lower_ns(unsigned int index);
uint64_t histogram_width_ns(unsigned int index);

/* Coarse bucket of @ns, the smallest latency that it holds, and how many it has of @histogram. */
unsigned int histogram_coarse_index(uint64_t ns);
uint64_t histogram_coarse_lower_ns(unsigned int index);
uint64_t histogram_coarse_count(const struct histogram *histogram, unsigned int index);

/*
 * The latency that at most @above samples exceed, as the last nanosecond of
 * its bucket; 0 when empty. @max_ns, the largest sample so far, is where the
 * search starts.
 */
uint64_t histogram_tail_ns(const struct histogram *histogram, uint64_t above, uint64_t max_ns);

#endif
