/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The samples of one measuring thread.
 *
 * Only this thread writes. The housekeeping thread reads at the same time; each
 * number that it reads is whole and at most one sample old. record_add() is all that
 * happens between two wake-ups besides reading the clock: no call, no lock, no
 * allocation, unless the sample is one of the worst or the largest of its window.
 *
 * A window is the time between two reads by the housekeeping thread. Its largest
 * latency is one word: the measuring thread raises it by compare-and-swap, the
 * housekeeping thread exchanges it for 0. So each sample is in exactly one window.
 */
#ifndef RTSCOPE_RECORD_H
#define RTSCOPE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/ring.h"

#define WORST_MAX	64
#define EXCEEDANCES_MAX 65536

/* Slots of a ring of every sample: over a second at 10 us. Ordinary threads may starve that long. */
#define SAMPLES_SLOTS	  131072U
#define EXCEEDANCES_SLOTS 8192U

#define CPU_UNKNOWN (-2) /* of a sample that another thread adds */

struct control {
	uint64_t until_ns; /* no deadline at or after this is waited for */
} __attribute__((aligned(64)));

struct worst_sample {
	uint64_t time_ns; /* the deadline, absolute */
	uint64_t latency_ns;
	unsigned long notice; /* which call of record_notice() added it, from 1 */
	int cpu;
	int tid; /* of a thread that is not the session's; else 0 */
};

/*
 * Late samples on their way from the measuring thread to the housekeeping thread, as in a ring of
 * samples: one that finds no slot is left out.
 */
#define LATE_SLOTS 128U

struct late_queue {
	unsigned int head __attribute__((aligned(64))); /* written by the measuring thread */
	unsigned int left_out;
	unsigned int tail __attribute__((aligned(64))); /* written by the housekeeping thread */
	struct worst_sample slot[LATE_SLOTS];
};

struct record {
	uint64_t count;
	uint64_t sum_ns;
	unsigned __int128 square_sum;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t last_ns;
	uint64_t notice_ns;	/* record_notice() is called at or above this */
	uint64_t window_max_ns; /* of the current window; 0 when it begins */
	uint64_t resumed_ns;	/* when the thread last resumed after waiting for its lease */
	uint64_t missed;	/* periods that passed while the thread was late */
	uint64_t early;		/* wake-ups before their deadline; recorded as 0 ns */
	struct histogram *histogram;
	struct ring *ring;	  /* NULL unless every sample is wanted */
	struct late_queue *late;  /* NULL unless late samples are to be explained */
	uint64_t late_ns;	  /* samples of that and more are queued; 0: the worst ones */
	struct ring *exceedances; /* of samples above exceed_ns; NULL unless they are wanted */
	uint64_t exceed_ns;	  /* raised by the housekeeping thread; UINT64_MAX: never */

	uint64_t threshold_ns;
	bool threshold_reached;
	unsigned int worst_wanted;
	unsigned int worst_count;
	int cpu; /* of its samples, if another thread adds them; -1: where record_add() runs */
	int tid; /* likewise; 0: the session's own */
	struct worst_sample worst[WORST_MAX]; /* largest first */
} __attribute__((aligned(64)));

/* Prepare @record; its histogram and ring are mapped and touched. 0 or -1. */
int record_init(struct record *record, unsigned int worst_wanted, uint64_t threshold_ns,
		bool every_sample);

/* Queue all samples above exceed_ns, which begins at 0. Returns 0, or -1 with errno. */
int record_queue_exceedances(struct record *record);

/* Queue samples of @late_ns and more; the worst ones for 0. Returns 0, or -1 with errno. */
int record_queue_late(struct record *record, uint64_t late_ns);

/* The next late sample, in order of time; false if there is none. */
bool late_pop(struct late_queue *late, struct worst_sample *sample);

/*
 * Keep one of the worst samples; notes a threshold that was reached. Who emulates this machine
 * finds a sample again by its call: each is counted, of whatever thread.
 */
void record_notice(struct record *record, uint64_t time_ns, uint64_t latency_ns);

/* Where record_notice() begins. */
uintptr_t record_notice_address(void);

/* Make @latency_ns the largest of the current window, if it is. */
void record_raise_window(struct record *record, uint64_t latency_ns);

/* End the current window and begin the next. Returns the largest latency of the one that ended. */
uint64_t record_end_window(struct record *record);

double record_mean_ns(const struct record *record);
double record_stddev_ns(const struct record *record);

/* A counter that another thread reads. */
#define record_set(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define record_get(field)	 __atomic_load_n(&(field), __ATOMIC_RELAXED)

/*
 * Add one sample: the thread was due at @due_ns and ran at @now_ns. A sample that ran before it was
 * due is counted as early, with 0 ns. Returns false, and adds nothing, if the thread waited for its
 * lease in between: that wait is the session's own and no latency of the system.
 */
static inline bool record_add(struct record *record, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t latency_ns = clock_elapsed_ns(due_ns, now_ns);
	uint64_t resumed_ns = record_get(record->resumed_ns);

	if (__builtin_expect(due_ns < resumed_ns && now_ns >= resumed_ns, 0))
		return false;
	if (__builtin_expect(now_ns < due_ns, 0))
		record_set(record->early, record->early + 1);
	histogram_add(record->histogram, latency_ns);
	record_set(record->sum_ns, record->sum_ns + latency_ns);
	record->square_sum += (unsigned __int128)latency_ns * latency_ns;
	record_set(record->last_ns, latency_ns);
	if (latency_ns < record->min_ns)
		record_set(record->min_ns, latency_ns);
	if (latency_ns > record->max_ns)
		record_set(record->max_ns, latency_ns);
	if (__builtin_expect(latency_ns > record_get(record->window_max_ns), 0))
		record_raise_window(record, latency_ns);
	if (__builtin_expect(latency_ns >= record->notice_ns, 0))
		record_notice(record, due_ns, latency_ns);
	if (__builtin_expect(latency_ns > record_get(record->exceed_ns), 0))
		ring_push(record->exceedances, due_ns, latency_ns);
	if (record->ring)
		ring_push(record->ring, due_ns, latency_ns);
	/* Release: a reader that counts the sample also finds it in a window. */
	__atomic_store_n(&record->count, record->count + 1, __ATOMIC_RELEASE);
	return true;
}

#endif
