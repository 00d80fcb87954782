// SPDX-License-Identifier: GPL-2.0-only
#include "probe/sched.c" /* its periods are its own */
#include "no_session.h"
#include "unit.h"

TEST(each_period_that_began_is_counted_once)
{
	for (uint64_t due_ns = 1000; due_ns < 1010; due_ns++) {
		for (uint64_t now_ns = 990; now_ns < 1100; now_ns++) {
			uint64_t passed = 0;

			for (uint64_t begin_ns = due_ns; begin_ns < now_ns; begin_ns += 7)
				passed++;
			assert_int_equal(periods_passed(due_ns, now_ns, 7), passed);
		}
	}
}

/* Five iterations that begin @late_ns after their start, judged by @criterion_ns. */
static struct measuring measured(uint64_t late_ns, uint64_t criterion_ns)
{
	struct measuring measuring = leased(5);

	measuring.start_ns -= late_ns;
	sched.busy_ns = 0;
	sched.criterion_ns = criterion_ns;
	measure(&measuring);
	assert_int_equal(measuring.record.count, 5);
	return measuring;
}

TEST(a_late_iteration_fails_and_a_late_start_is_reported_and_fails_none)
{
	struct measuring start = measured(20 * NSEC_PER_SEC, 10 * NSEC_PER_SEC);
	struct measuring iteration = measured(0, 1);

	assert_true(metric(&start, "start_ns") >= 20e9);
	assert_true(metric(&start, "failed") == 0);
	assert_true(metric(&start, "pass") == (start.record.missed == 0));
	assert_true(metric(&iteration, "failed") == 5);
	assert_true(metric(&iteration, "pass") == 0);
}

TEST(the_wait_for_a_late_lease_is_no_latency_and_its_periods_are_missed)
{
	struct measuring measuring = leased(5);
	pthread_t renewing = lease_late(&measuring);

	sched.busy_ns = 0;
	measure(&measuring);
	pthread_join(renewing, NULL);
	assert_int_equal(measuring.record.count, 5);
	assert_true(measuring.record.max_ns < LEASE_LATE_NS / 2);
	assert_true(measuring.record.missed >= LEASE_LATE_NS / NSEC_PER_MSEC - 2);
}

UNIT_TESTS(NULL, NULL)
