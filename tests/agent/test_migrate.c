// SPDX-License-Identifier: GPL-2.0-only
#include "probe/migrate.c" /* what it judges is its own */

#include "unit.h"

#define TOLERANCE 1000

TEST(threads_that_start_together_violate_nothing)
{
	static const struct run run[] = { { 100, 9000, 0 }, { 150, 9000, 1 }, { 9100, 18000, 0 } };

	for (unsigned int rank = 0; rank < 3; rank++)
		assert_false(violated(run, rank, 3, TOLERANCE));
}

TEST(a_thread_that_waits_while_a_lower_one_runs_is_a_violation)
{
	static const struct run run[] = { { 100, 9000, 0 }, { 9100, 18000, 0 }, { 120, 9000, 1 } };

	assert_false(violated(run, 0, 3, TOLERANCE));
	assert_true(violated(run, 1, 3, TOLERANCE));
	assert_false(violated(run, 2, 3, TOLERANCE));
	assert_int_equal(overtaken_ns(&run[1], &run[2]), 9000 - 120);
}

TEST(waiting_no_longer_than_the_tolerance_is_none)
{
	static const struct run at[] = { { 1100, 9000, 0 }, { 100, 9000, 1 } };
	static const struct run beyond[] = { { 1101, 9000, 0 }, { 100, 9000, 1 } };

	assert_false(violated(at, 0, 2, TOLERANCE));
	assert_true(violated(beyond, 0, 2, TOLERANCE));
}

TEST(a_lower_thread_that_soon_lost_its_cpu_took_nothing_from_a_higher_one)
{
	static const struct run run[] = { { 9000, 18000, 0 }, { 100, 600, 0 } };

	assert_false(violated(run, 0, 2, TOLERANCE));
}

TEST(a_cpu_has_its_place_in_the_list_and_all_others_the_last)
{
	migrate.cpus = (struct cpus){ .count = 2, .number = { 3, 5 } };
	assert_int_equal(place_of(3), 0);
	assert_int_equal(place_of(5), 1);
	assert_int_equal(place_of(4), CPUS_SHOWN);
}

UNIT_TESTS(NULL, NULL)
