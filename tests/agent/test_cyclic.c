// SPDX-License-Identifier: GPL-2.0-only
#include "probe/cyclic.c" /* its deadlines are its own */

#include "unit.h"

#define INTERVAL_NS 1000000ULL

static struct deadline first(uint64_t seed, unsigned int index, uint64_t interval_ns)
{
	struct session_options session = { .seed = seed };
	struct measuring measuring = {
		.options = &session,
		.start_ns = 5000,
		.index = index,
		.role.interval_ns = interval_ns,
	};

	return first_deadline(&measuring);
}

static struct deadline sweeping(uint64_t seed)
{
	return first(seed, 0, INTERVAL_NS);
}

TEST(deadlines_sweep_the_whole_interval_evenly_and_keep_its_mean)
{
	struct deadline deadline = sweeping(7);
	uint64_t first_ns = deadline_ns(&deadline), last_ns = first_ns;
	unsigned int hits[100] = { 0 };

	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t due_ns = deadline_advance(&deadline, 1);
		uint64_t phase_ns = due_ns - deadline.period_start_ns;

		assert_true(phase_ns < INTERVAL_NS);
		hits[phase_ns / (INTERVAL_NS / 100)]++;
		assert_in_range(due_ns - last_ns, INTERVAL_NS * 93 / 100, INTERVAL_NS * 107 / 100);
		last_ns = due_ns;
	}
	foreach (count, hits)
		assert_in_range(*count, 980, 1020);
	assert_in_range((last_ns - first_ns) / 100000, INTERVAL_NS - 10, INTERVAL_NS + 10);
	assert_true(sweeping(1).phase != first(1, 1, INTERVAL_NS).phase);
	assert_true(sweeping(1).phase != sweeping(3).phase);
}

/* 200 us in every seventh interval: a fixed phase outside it never meets it. */
static unsigned int met(struct deadline deadline)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < 70000; i++) {
		count += deadline_ns(&deadline) % (7 * INTERVAL_NS) < INTERVAL_NS / 5;
		deadline_advance(&deadline, 1);
	}
	return count;
}

TEST(a_disturbance_that_shares_a_factor_with_the_interval_is_met)
{
	struct deadline fixed = { .period_start_ns = INTERVAL_NS / 2, .interval_ns = INTERVAL_NS };

	assert_int_equal(met(fixed), 0);
	for (uint64_t seed = 0; seed < 50; seed++)
		assert_in_range(met(sweeping(seed)), 1800, 2200);
}

TEST(each_missed_period_is_counted_once)
{
	for (uint64_t late_ns = 0; late_ns < 40 * INTERVAL_NS; late_ns += 7919) {
		struct deadline jumped = sweeping(late_ns), walked = jumped;
		uint64_t now_ns = deadline_ns(&jumped) + late_ns, missed = 0;

		while (deadline_ns(&walked) <= now_ns) {
			deadline_advance(&walked, 1);
			missed++;
		}
		assert_int_equal(deadline_catch_up(&jumped, now_ns), missed);
		assert_int_equal(deadline_ns(&jumped), deadline_ns(&walked));
	}
}

TEST(an_hour_of_stall_at_10_us_is_passed_over_at_once)
{
	struct deadline deadline = first(1, 0, 10000);
	uint64_t before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t missed = deadline_catch_up(&deadline, 3600 * NSEC_PER_SEC);

	assert_in_range(missed, 359999999, 360000001);
	assert_true(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns < NSEC_PER_SEC / 10);
}

UNIT_TESTS(NULL, NULL)
