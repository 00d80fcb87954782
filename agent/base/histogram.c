// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the histogram that no measuring thread needs. */
#include "base/histogram.h"

static unsigned int shift_of(unsigned int index, unsigned int sub_bits)
{
	return index < 2U << sub_bits ? 0 : (index >> sub_bits) - 1;
}

static uint64_t lower_ns(unsigned int index, unsigned int sub_bits)
{
	unsigned int shift = shift_of(index, sub_bits);

	return (uint64_t)(index - (shift << sub_bits)) << shift;
}

uint64_t histogram_lower_ns(unsigned int index)
{
	return lower_ns(index, HISTOGRAM_SUB_BITS);
}

uint64_t histogram_width_ns(unsigned int index)
{
	return 1ULL << shift_of(index, HISTOGRAM_SUB_BITS);
}

unsigned int histogram_coarse_index(uint64_t ns)
{
	unsigned int magnitude = 63 - (unsigned int)__builtin_clzll(ns | 1);
	unsigned int shift =
		magnitude > HISTOGRAM_COARSE_BITS ? magnitude - HISTOGRAM_COARSE_BITS : 0;

	return (shift << HISTOGRAM_COARSE_BITS) + (unsigned int)(ns >> shift);
}

uint64_t histogram_coarse_lower_ns(unsigned int index)
{
	return lower_ns(index, HISTOGRAM_COARSE_BITS);
}

uint64_t histogram_coarse_count(const struct histogram *histogram, unsigned int index)
{
	uint64_t lower = lower_ns(index, HISTOGRAM_COARSE_BITS);
	uint64_t last_ns = lower + (1ULL << shift_of(index, HISTOGRAM_COARSE_BITS)) - 1;
	uint64_t count = 0;

	for (unsigned int i = histogram_index(lower); i <= histogram_index(last_ns); i++)
		count += histogram_count(histogram, i);
	return count;
}

uint64_t histogram_tail_ns(const struct histogram *histogram, uint64_t above, uint64_t max_ns)
{
	unsigned int index = histogram_index(max_ns);
	uint64_t seen = 0;

	for (;; index--) {
		seen += histogram_count(histogram, index);
		if (seen > above) {
			uint64_t last = histogram_lower_ns(index) + histogram_width_ns(index) - 1;

			return last < max_ns ? last : max_ns;
		}
		if (!index)
			return 0;
	}
}
