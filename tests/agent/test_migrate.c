// SPDX-License-Identifier: GPL-2.0-only
#include "probe/migrate.c" /* what it judges is its own */

#include "unit.h"

#define TOLERANCE 1000

/* Runs from @begin to @end on a CPU, the highest thread's first, and who was violated. */
TEST(a_thread_that_waits_beyond_the_tolerance_while_a_lower_one_runs_is_a_violation)
{
	static const struct {
		struct run run[3];
		bool violated[3];
	} cases[] = {
		{ { { 100, 9000, 0 }, { 150, 9000, 1 }, { 9100, 18000, 0 } }, { 0 } },
		{ { { 100, 9000, 0 }, { 9100, 18000, 0 }, { 120, 9000, 1 } }, { 0, 1, 0 } },
		{ { { 1100, 9000, 0 }, { 100, 9000, 1 }, { 9100, 9200, 0 } }, { 0 } },
		{ { { 1101, 9000, 0 }, { 100, 9000, 1 }, { 9100, 9200, 0 } }, { 1, 0, 0 } },
		{ { { 9000, 18000, 0 }, { 100, 600, 0 }, { 18100, 18200, 0 } }, { 0 } },
	};

	foreach (each, cases) {
		for (unsigned int rank = 0; rank < 3; rank++)
			assert_int_equal(violated(each->run, rank, 3, TOLERANCE),
					 each->violated[rank]);
	}
	assert_int_equal(overtaken_ns(&cases[1].run[1], &cases[1].run[2]), 9000 - 120);
}

TEST(a_cpu_has_its_place_in_the_list_and_all_others_the_last)
{
	migrate.cpus = (struct cpus){ .count = 2, .number = { 3, 5 } };
	assert_int_equal(place_of(3), 0);
	assert_int_equal(place_of(5), 1);
	assert_int_equal(place_of(4), CPUS_SHOWN);
}

UNIT_TESTS(NULL, NULL)
