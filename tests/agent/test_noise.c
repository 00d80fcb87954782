// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include "probe/noise.c" /* spin() is its own */
#include "no_session.h"
#include "unit.h"

#define LEASE_LATE_NS (200 * NSEC_PER_MSEC)

static void *renew_late(void *argument)
{
	struct control *control = argument;

	clock_sleep_until(clock_now_ns() + LEASE_LATE_NS);
	record_set(control->until_ns, UINT64_MAX);
	return NULL;
}

TEST(the_wait_for_a_late_lease_is_neither_a_gap_nor_observed)
{
	static struct control control = { .until_ns = 1 };
	struct measuring measuring = {
		.control = &control,
		.end_ns = UINT64_MAX,
		.samples = UINT64_MAX,
	};
	struct spinning spinning = { 0 };
	pthread_t thread;

	noise.threshold_ns = NSEC_PER_USEC;
	noise.runtime_ns = LEASE_LATE_NS + 10 * NSEC_PER_MSEC;
	assert_int_equal(record_init(&measuring.record, 0, UINT64_MAX, false), 0);
	assert_int_equal(pthread_create(&thread, NULL, renew_late, &control), 0);
	spin(&measuring, &spinning);
	pthread_join(thread, NULL);
	assert_true(measuring.record.max_ns < LEASE_LATE_NS / 2);
	assert_true(spinning.observed_ns < LEASE_LATE_NS / 2);
	assert_true(spinning.observed_ns >= measuring.record.sum_ns);
}

UNIT_TESTS(NULL, NULL)
