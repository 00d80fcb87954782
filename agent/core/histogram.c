// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the histogram that no measuring thread needs. */
#include "core/histogram.h"

static unsigned int shift_of(unsigned int index)
{
	return index < HISTOGRAM_EXACT_BELOW ? 0 : (index >> HISTOGRAM_SUB_BITS) - 1;
}

uint64_t histogram_lower_ns(unsigned int index)
{
	unsigned int shift = shift_of(index);

	if (!shift)
		return index;
	return (uint64_t)(index - (shift << HISTOGRAM_SUB_BITS)) << shift;
}

uint64_t histogram_width_ns(unsigned int index)
{
	return 1ULL << shift_of(index);
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
