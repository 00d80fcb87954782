// SPDX-License-Identifier: GPL-2.0-only
/* What stands in for libgcc on MIPS III and powerpc64 computes what the compiler does here. */
#include <string.h>

#define __clzdi2      our_clzdi2
#define __ctzdi2      our_ctzdi2
#define __udivti3     our_udivti3
#define __floatuntidf our_floatuntidf
#include "../../setup/builtins.c"
#include "unit.h"

#define ROUNDS 20000

static uint64_t seed;

static int start(void **state)
{
	(void)state;
	seed = 0x9e3779b97f4a7c15;
	return 0;
}

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Every length is as likely, and runs of ones and zeros are common: there roundings go wrong. */
static uint128_t any(void)
{
	uint128_t value = (uint128_t)next() << 64 | next();

	if (next() % 4 == 0)
		value = -(uint128_t)1 << next() % 128;
	if (next() % 4 == 0)
		value += next() % 3 - 1;
	return value >> next() % 128;
}

TEST(bits_are_counted)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t value = any();

		if (!value)
			continue;
		assert_int_equal(our_clzdi2(value), __builtin_clzll(value));
		assert_int_equal(our_ctzdi2(value), __builtin_ctzll(value));
	}
}

TEST(values_of_128_bits_are_divided)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint128_t dividend = any(), divisor = any();

		if (divisor)
			assert_true(our_udivti3(dividend, divisor) == dividend / divisor);
	}
}

TEST(values_of_128_bits_round_to_the_nearest_double)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint128_t value = any();
		double ours = our_floatuntidf(value), theirs = (double)value;

		assert_memory_equal(&ours, &theirs, sizeof(ours));
	}
}

UNIT_TESTS(start, NULL)
