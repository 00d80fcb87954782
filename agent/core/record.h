/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one measuring thread has seen.
 *
 * The thread alone writes; the housekeeping thread reads while it does, each
 * number whole and at most one sample old. record_add() is all that happens
 * between two wake-ups besides reading the clock: no call, no lock, no
 * allocation, unless the sample is one of the worst.
 *
 * A window is the time between two looks of the housekeeping thread. It counts
 * windows in struct control; the thread keeps the largest latency of the
 * current window in one of two slots, so that the one before can still be read
 * when a new window has begun.
 */
#ifndef RTSCOPE_RECORD_H
#define RTSCOPE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/ring.h"

#define WORST_MAX 64

struct control {
	uint64_t until_ns; /* no deadline at or after this is waited for */
	uint64_t window;
} __attribute__((aligned(64)));

struct worst_sample {
	uint64_t time_ns; /* the deadline, absolute */
	uint64_t latency_ns;
	unsigned long notice; /* which call of record_notice() told of it, from 1 */
	int cpu;
};

struct window_slot {
	uint64_t window;
	uint64_t max_ns;
};

struct record {
	uint64_t count;
	uint64_t sum_ns;
	unsigned __int128 square_sum;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t last_ns;
	uint64_t notice_ns; /* at or above this record_notice() is told */
	struct window_slot slot[2];
	uint64_t missed; /* periods that passed while the thread was late */
	uint64_t early;	 /* wake-ups before their deadline; recorded as 0 ns */
	struct histogram *histogram;
	struct ring *ring; /* NULL unless every sample is wanted */

	uint64_t threshold_ns;
	bool threshold_reached;
	unsigned int worst_wanted;
	unsigned int worst_count;
	int cpu; /* of its samples; below 0: the one that record_add() is called on */
	struct worst_sample worst[WORST_MAX]; /* largest first */
} __attribute__((aligned(64)));

/* Prepare @record; its histogram and ring are mapped and touched. 0 or -1. */
int record_init(struct record *record, unsigned int worst_wanted, uint64_t threshold_ns,
		bool every_sample);

/*
 * Keep one of the worst samples; notes a threshold that was reached. Who emulates this machine
 * finds a sample again by its call: each is counted, of whatever thread.
 */
void record_notice(struct record *record, uint64_t time_ns, uint64_t latency_ns);

/* Where record_notice() begins. */
uintptr_t record_notice_address(void);

/* Largest latency of @window, which is the current one or the one before it. */
uint64_t record_window_max_ns(const struct record *record, uint64_t window);

double record_mean_ns(const struct record *record);
double record_stddev_ns(const struct record *record);

/* A counter that another thread reads. */
#define record_set(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define record_get(field)	 __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* One sample: the thread was due at @due_ns and ran at @now_ns. */
static inline void record_add(struct record *record, const struct control *control, uint64_t due_ns,
			      uint64_t now_ns)
{
	uint64_t window = record_get(control->window);
	struct window_slot *slot = &record->slot[window % 2];
	uint64_t latency_ns = now_ns - due_ns;

	if (__builtin_expect(now_ns < due_ns, 0)) {
		record_set(record->early, record->early + 1);
		latency_ns = 0;
	}
	histogram_add(record->histogram, latency_ns);
	record_set(record->sum_ns, record->sum_ns + latency_ns);
	record->square_sum += (unsigned __int128)latency_ns * latency_ns;
	record_set(record->last_ns, latency_ns);
	if (latency_ns < record->min_ns)
		record_set(record->min_ns, latency_ns);
	if (latency_ns > record->max_ns)
		record_set(record->max_ns, latency_ns);
	if (slot->window != window) {
		record_set(slot->max_ns, 0);
		__atomic_store_n(&slot->window, window, __ATOMIC_RELEASE);
	}
	if (latency_ns > slot->max_ns)
		record_set(slot->max_ns, latency_ns);
	if (__builtin_expect(latency_ns >= record->notice_ns, 0))
		record_notice(record, due_ns, latency_ns);
	if (record->ring)
		ring_push(record->ring, due_ns, latency_ns);
	record_set(record->count, record->count + 1);
}

#endif
