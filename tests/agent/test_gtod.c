// SPDX-License-Identifier: GPL-2.0-only
#include "probe/gtod.c" /* its steps and its table are its own */

#include "unit.h"

TEST(each_sample_is_in_the_row_of_its_microsecond)
{
	static const uint64_t latencies_ns[] = { 0, 1, 999, 1000, 1999, 2000, 7999, 20000000 };
	static const struct {
		uint64_t us, count;
	} rows[] = { { 0, 3 }, { 1, 2 }, { 2, 1 }, { 7, 1 }, { 19988, 1 } };
	struct measuring measuring = { 0 };
	unsigned int first = 0;

	assert_int_equal(record_init(&measuring.record, 0, UINT64_MAX, false), 0);
	for (size_t i = 0; i < sizeof(latencies_ns) / sizeof(latencies_ns[0]); i++)
		histogram_add(measuring.record.histogram, latencies_ns[i]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t us = next_sample_us(&measuring, 1, &first);

		/* Beyond 16 us a bucket spans several microseconds' borders by up to 0.1 %. */
		assert_in_range(us, rows[i].us, rows[i].us + rows[i].us / 1000);
		assert_int_equal(count_microsecond(&measuring.record, &first, us), rows[i].count);
	}
	assert_true(next_sample_us(&measuring, 1, &first) == UINT64_MAX);
}

TEST(the_shortest_step_and_every_step_back_are_kept)
{
	struct steps steps = { .shortest_ns = INT64_MAX };

	steps_add(&steps, 0);
	assert_true(steps.shortest_ns == INT64_MAX);
	steps_add(&steps, 30);
	steps_add(&steps, 20);
	steps_add(&steps, -5);
	steps_add(&steps, 25);
	assert_int_equal(steps.shortest_ns, 20);
	assert_int_equal(steps.backwards, 1);
}

TEST(the_clocks_share_a_duration_evenly)
{
	struct session_options options = { .duration_ns = 900 };
	const struct measuring measuring = { .options = &options, .start_ns = 10000 };
	struct series series = { .position = 0 };

	gtod.sources = 3;
	assert_int_equal(series_end_ns(&measuring, &series), 10300);
	series.position = 2;
	assert_int_equal(series_end_ns(&measuring, &series), 10900);
	options.duration_ns = 0;
	assert_true(series_end_ns(&measuring, &series) == UINT64_MAX);
}

UNIT_TESTS(NULL, NULL)
