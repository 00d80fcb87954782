// SPDX-License-Identifier: GPL-2.0-only
#include "base/histogram.h"
#include "unit.h"

TEST(buckets_are_exact_below_2048_ns_within_a_thousandth_above_and_have_no_gap)
{
	uint64_t expected_ns = 0;

	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t lower_ns = histogram_lower_ns(i), width_ns = histogram_width_ns(i);

		assert_true(lower_ns == expected_ns);
		assert_true(lower_ns < 2048 ? width_ns == 1 : width_ns <= lower_ns / 1000);
		assert_int_equal(histogram_index(lower_ns), i);
		assert_int_equal(histogram_index(lower_ns + width_ns / 2), i);
		assert_int_equal(histogram_index(lower_ns + width_ns - 1), i);
		expected_ns = lower_ns + width_ns;
	}
	assert_true(expected_ns == HISTOGRAM_MAX_NS + 1);
}

TEST(coarse_buckets_are_whole_ones_without_a_gap)
{
	static struct histogram histogram;
	uint64_t coarse = 0, expected_ns = 0;

	foreach (count, histogram.count)
		*count = 1;
	for (unsigned int i = 0; i < HISTOGRAM_COARSE_BUCKETS; i++) {
		uint64_t lower_ns = histogram_coarse_lower_ns(i);

		assert_true(lower_ns == expected_ns);
		assert_true(histogram_coarse_index(lower_ns) == i);
		expected_ns = i + 1 < HISTOGRAM_COARSE_BUCKETS ? histogram_coarse_lower_ns(i + 1) :
								 HISTOGRAM_MAX_NS + 1;
		assert_true(histogram_coarse_index(expected_ns - 1) == i);
		assert_true(expected_ns - lower_ns == 1 || expected_ns - lower_ns <= lower_ns / 32);
		coarse += histogram_coarse_count(&histogram, i);
	}
	assert_true(coarse == HISTOGRAM_BUCKETS);
	assert_true(expected_ns == HISTOGRAM_MAX_NS + 1);
}

TEST(the_tail_is_what_at_most_so_many_samples_exceed)
{
	static struct histogram histogram;

	assert_true(histogram_tail_ns(&histogram, 0, 0) == 0);
	for (uint64_t ns = 1; ns <= 1000; ns++)
		histogram_add(&histogram, ns);
	assert_true(histogram_tail_ns(&histogram, 0, 1000) == 1000);
	assert_true(histogram_tail_ns(&histogram, 1, 1000) == 999);
	assert_true(histogram_tail_ns(&histogram, 999, 1000) == 1);
	histogram_add(&histogram, 1000001);
	assert_true(histogram_tail_ns(&histogram, 0, 1000001) == 1000001);
	histogram_add(&histogram, HISTOGRAM_MAX_NS);
	assert_true(histogram.count[HISTOGRAM_BUCKETS - 1] == 1);
}

UNIT_TESTS(NULL, NULL)
