// SPDX-License-Identifier: GPL-2.0-only
#include "probe/noise.c" /* spin() is its own */
#include "no_session.h"
#include "unit.h"

TEST(the_wait_for_a_late_lease_is_neither_a_gap_nor_observed)
{
	struct spinning spinning = { 0 };
	struct measuring measuring = leased(UINT64_MAX);
	pthread_t renewing;

	noise.threshold_ns = NSEC_PER_USEC;
	noise.runtime_ns = LEASE_LATE_NS + 10 * NSEC_PER_MSEC;
	renewing = lease_late(&measuring);
	spin(&measuring, &spinning);
	pthread_join(renewing, NULL);
	assert_true(measuring.record.max_ns < LEASE_LATE_NS / 2);
	assert_true(spinning.observed_ns < LEASE_LATE_NS / 2);
	assert_true(spinning.observed_ns >= measuring.record.sum_ns);
}

UNIT_TESTS(NULL, NULL)
