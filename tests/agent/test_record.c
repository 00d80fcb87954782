// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <pthread.h>
#include "no_session.h"
#include "unit.h"

static struct record *fresh(unsigned int worst, uint64_t threshold_ns, bool every_sample)
{
	static struct record record;

	assert_int_equal(record_init(&record, worst, threshold_ns, every_sample), 0);
	return &record;
}

static void add(struct record *record, uint64_t latency_ns)
{
	uint64_t due_ns = 1000000 + record->count * 1000;

	record_add(record, due_ns, due_ns + latency_ns);
}

TEST(metrics_are_exact_and_survive_sums_beyond_64_bits)
{
	struct record *record = fresh(10, UINT64_MAX, false);

	for (uint64_t i = 0; i < 100; i++)
		add(record, 5000 + i % 2 * 1000000000);
	assert_printed("100 5000 1000005000 500005000", "%lu %lu %lu %.0f", record->count,
		       record->min_ns, record->max_ns, record_mean_ns(record));
	assert_true(fabs(record_stddev_ns(record) - 500000000.0 * sqrt(100.0 / 99)) < 1e-3);
	record = fresh(0, UINT64_MAX, false);
	for (int i = 0; i < 4; i++)
		add(record, (1ULL << 60) + (i % 2 ? 1ULL << 50 : 0));
	assert_true(fabs(record_stddev_ns(record) / ((1ULL << 49) * sqrt(4.0 / 3)) - 1) < 0.01);
}

/* 1 and 6 are not among the three worst when they come. */
TEST(the_worst_samples_come_largest_first_with_their_notice_and_cpu)
{
	static const uint64_t latencies_ns[] = { 5, 7, 900, 1, 900, 2000, 6, 1500, 0 };
	static const unsigned int worst[][2] = { { 2000, 5 }, { 1500, 6 }, { 900, 3 } };
	struct record *record = fresh(3, UINT64_MAX, false);
	unsigned long before;
	cpu_set_t cpus;
	int cpu;

	add(record, 1);
	before = record->worst[0].notice;
	record = fresh(3, UINT64_MAX, false);
	cpu = move_to_last_cpu(&cpus);
	foreach (latency_ns, latencies_ns)
		add(record, *latency_ns);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	assert_int_equal(record->worst_count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(record->worst[i].latency_ns, worst[i][0]);
		assert_int_equal(record->worst[i].notice - before, worst[i][1]);
		assert_int_equal(record->worst[i].cpu, cpu);
	}
	assert_int_equal(record->worst[0].time_ns, 1005000);
	assert_true(record_notice_address());
	record->cpu = 4711; /* of another thread, which the sample is added for */
	add(record, UINT32_MAX);
	assert_int_equal(record->worst[0].cpu, 4711);
}

TEST(late_samples_are_queued_from_the_limit_on_or_if_they_are_among_the_worst)
{
	static const uint64_t latencies_ns[] = { 50, 99, 100, 30, 200, 100, 40 };
	static const uint64_t late_ns[] = { 100, 200, 100 }, worst_ns[] = { 50, 99, 100, 200 };
	struct worst_sample sample;
	struct record *record;

	for (int limited = 0; limited < 2; limited++) {
		const uint64_t *wanted = limited ? late_ns : worst_ns;
		unsigned int count = limited ? 3 : 4;

		record = fresh(limited ? 0 : 1, UINT64_MAX, false);
		assert_int_equal(record_queue_late(record, limited ? 100 : 0), 0);
		for (unsigned int i = 0; i < 7; i++)
			add(record, latencies_ns[i]);
		for (unsigned int i = 0; i < count; i++) {
			assert_true(late_pop(record->late, &sample));
			assert_int_equal(sample.latency_ns, wanted[i]);
		}
		assert_false(late_pop(record->late, &sample));
	}
}

TEST(early_samples_have_no_latency_and_those_of_the_wait_for_the_lease_are_none)
{
	struct record *record = fresh(1, UINT64_MAX, false);

	assert_true(record_add(record, 1000, 990));
	assert_int_equal(record->early, 1);
	assert_int_equal(record->max_ns, 0);
	assert_int_equal(record->histogram->count[0], 1);
	record->resumed_ns = 5000;
	assert_false(record_add(record, 4999, 5000));
	assert_true(record_add(record, 4000, 4999));
	assert_true(record_add(record, 5000, 5010));
	assert_int_equal(record->count, 3);
	assert_int_equal(record->max_ns, 999);
}

#define WINDOW_SAMPLES 100000
#define WINDOWS_PASSED 4

static struct {
	uint64_t max_ns; /* the last that a window had */
	uint64_t ended;	 /* windows */
	uint64_t lost;	 /* samples that none of the next windows had */
	bool over;
} windows;

/* Each sample waits until a window has had the one before. */
static void *add_samples(void *argument)
{
	struct record *record = argument;

	for (uint64_t latency_ns = 1; latency_ns <= WINDOW_SAMPLES; latency_ns++) {
		uint64_t ended;

		add(record, latency_ns);
		ended = __atomic_load_n(&windows.ended, __ATOMIC_ACQUIRE);
		while (__atomic_load_n(&windows.max_ns, __ATOMIC_ACQUIRE) != latency_ns) {
			if (__atomic_load_n(&windows.ended, __ATOMIC_ACQUIRE) <=
			    ended + WINDOWS_PASSED) {
				sched_yield(); /* where both threads have one CPU */
				continue;
			}
			windows.lost +=
				__atomic_load_n(&windows.max_ns, __ATOMIC_ACQUIRE) != latency_ns;
			break;
		}
	}
	__atomic_store_n(&windows.over, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST(each_sample_is_in_one_window)
{
	struct record *record = fresh(0, UINT64_MAX, false);
	pthread_t thread;

	add(record, 700);
	assert_int_equal(record_end_window(record), 700);
	assert_int_equal(record_end_window(record), 0);
	add(record, 300);
	add(record, 200);
	assert_int_equal(record_end_window(record), 300);
	assert_int_equal(pthread_create(&thread, NULL, add_samples, record), 0);
	while (!__atomic_load_n(&windows.over, __ATOMIC_ACQUIRE)) {
		uint64_t max_ns = record_end_window(record);

		if (!max_ns)
			sched_yield();
		else
			__atomic_store_n(&windows.max_ns, max_ns, __ATOMIC_RELEASE);
		__atomic_store_n(&windows.ended, windows.ended + 1, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	assert_int_equal(windows.lost, 0);
}

TEST(a_full_ring_drops_and_counts_and_keeps_what_it_had)
{
	struct record *record = fresh(0, UINT64_MAX, true);
	struct ring_sample sample;

	for (unsigned int i = 0; i < SAMPLES_SLOTS + 5; i++)
		add(record, i);
	assert_int_equal(record->ring->dropped, 5);
	for (unsigned int i = 0; i < SAMPLES_SLOTS; i++) {
		assert_true(ring_pop(record->ring, &sample));
		assert_int_equal(sample.latency_ns, i);
	}
	assert_false(ring_pop(record->ring, &sample));
	assert_int_equal(record->count, SAMPLES_SLOTS + 5);
}

#define STREAMED 1000000

static void *produce(void *ring)
{
	for (uint64_t i = 0; i < STREAMED; i++)
		ring_push(ring, i, ~i);
	return NULL;
}

TEST(a_ring_between_two_threads_never_tears_or_reorders_a_sample)
{
	struct record *record = fresh(0, UINT64_MAX, true);
	struct ring *ring = record->ring;
	struct ring_sample sample;
	uint64_t popped = 0, next = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, produce, ring), 0);
	while (popped + __atomic_load_n(&ring->dropped, __ATOMIC_RELAXED) < STREAMED) {
		if (!ring_pop(ring, &sample))
			continue;
		assert_true(sample.latency_ns == ~sample.time_ns);
		assert_true(sample.time_ns >= next);
		next = sample.time_ns + 1;
		popped++;
	}
	pthread_join(thread, NULL);
	assert_true(popped > 0);
}

UNIT_TESTS(NULL, NULL)
