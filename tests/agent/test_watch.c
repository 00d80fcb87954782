// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include "base/clock.h"
#include "probe/watch.h"
#include "unit.h"

#define MS	NSEC_PER_MSEC
#define LOOK_NS 100

static const struct limits limits = {
	.interval_ns = 10 * MS,
	.low_ns = 9700000,
	.high_ns = 10300000,
	.gap_ns = 100000,
};

static struct control control;
static struct measuring measuring;
static struct watch watch;
static struct rtloop_page pulse;

static int set_up(void **state)
{
	(void)state;
	memset(&pulse, 0, sizeof(pulse));
	watch = (struct watch){ .pulse = &pulse };
	measuring = (struct measuring){ .control = &control, .samples = UINT64_MAX };
	watch.measuring = &measuring;
	return record_init(&measuring.record, 4, UINT64_MAX, false);
}

/* The loop shows an edge, and the observer's look that finds it ends @late_ns later. */
static void edge(uint64_t at_ns, bool begins, uint64_t late_ns)
{
	pulse_show(&pulse, at_ns, begins);
	watch_look(&watch, &limits, pulse_edges(&pulse), at_ns - LOOK_NS, at_ns + late_ns);
}

/* The periods so far: how many, and their extremes. */
static void assert_periods(uint64_t count, uint64_t min_ns, uint64_t max_ns)
{
	assert_int_equal(measuring.record.count, count);
	assert_int_equal(measuring.record.min_ns, min_ns);
	assert_int_equal(measuring.record.max_ns, max_ns);
}

TEST(a_period_is_from_one_look_to_another_and_none_ends_where_a_turn_begins, set_up)
{
	edge(50 * MS, true, 30);
	edge(60 * MS, false, 50);
	assert_periods(1, 10 * MS + 20, 10 * MS + 20);
	assert_int_equal(watch.in_range, 1);
	assert_int_equal(watch.uncertain, 0);
	edge(4000 * MS, true, 0);
	edge(4010 * MS, false, 0);
	assert_periods(2, 10 * MS, 10 * MS + 20);
}

TEST(the_thresholds_themselves_are_in_range, set_up)
{
	static const uint64_t periods_ns[] = { 9699999, 9700000, 10300000, 10300001,
					       7999999, 8000000, 12000000, 12000001 };
	uint64_t at_ns = 50 * MS;

	edge(at_ns, true, 0);
	foreach (period_ns, periods_ns)
		edge(at_ns += *period_ns, false, 0);
	assert_printed("3 2 3, 1 6 1", "%lu %lu %lu, %lu %lu %lu", watch.under, watch.in_range,
		       watch.over, watch.under_20pct, watch.in_20pct, watch.over_20pct);
}

TEST(a_late_look_takes_the_loops_own_clock_and_makes_both_periods_uncertain, set_up)
{
	edge(50 * MS, true, 0);
	edge(60 * MS, false, 7 * MS);
	edge(70 * MS, false, 0);
	edge(80 * MS, false, 0);
	assert_periods(3, 10 * MS, 10 * MS);
	assert_int_equal(watch.uncertain, 2);
}

TEST(edges_that_came_together_have_their_marks_and_those_without_are_unseen, set_up)
{
	unsigned int shown = 3 * PULSE_MARKS;

	edge(50 * MS, true, 0);
	pulse_show(&pulse, 60 * MS, false);
	pulse_show(&pulse, 75 * MS, false);
	edge(80 * MS, false, 0);
	assert_periods(3, 5 * MS, 15 * MS);
	assert_int_equal(watch.uncertain, 3);
	assert_int_equal(watch.unseen, 0);
	set_up(NULL);
	edge(50 * MS, true, 0);
	for (unsigned int i = 1; i <= shown; i++)
		pulse_show(&pulse, (50 + 10 * i) * MS, false);
	watch_look(&watch, &limits, pulse_edges(&pulse), 50 * MS, 10000 * MS);
	assert_int_equal(watch.unseen, shown - PULSE_MARKS + 1);
	assert_periods(shown - watch.unseen - 1, 10 * MS, 10 * MS);
}

TEST(no_more_samples_than_asked_for_are_taken_and_none_is_negative, set_up)
{
	measuring.samples = 2;
	edge(50 * MS, true, 90000);
	edge(50 * MS + 40000, false, MS);
	assert_periods(1, 0, 0);
	assert_int_equal(measuring.record.early, 1);
	for (uint64_t at_ns = 60 * MS; at_ns < 100 * MS; at_ns += 10 * MS)
		edge(at_ns, false, 0);
	assert_int_equal(measuring.record.count, 2);
}

UNIT_TESTS(NULL, NULL)
