// SPDX-License-Identifier: GPL-2.0-only
/* What stands in for libgcc on MIPS III and powerpc64 computes what the compiler does here. */
#include <string.h>

#define __clzdi2      our_clzdi2
#define __ctzdi2      our_ctzdi2
#define __udivti3     our_udivti3
#define __floatuntidf our_floatuntidf
#include "../../setup/builtins.c"
#include "unit.h"

#define ROUNDS 60000

static uint64_t next(void)
{
	static uint64_t seed = 0x9e3779b97f4a7c15;

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

TEST(each_function_computes_what_the_compiler_does)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint128_t value = any(), divisor = any();
		double ours = our_floatuntidf(value), theirs = (double)value;
		uint64_t half = value;

		assert_memory_equal(&ours, &theirs, sizeof(ours));
		if (divisor)
			assert_true(our_udivti3(value, divisor) == value / divisor);
		if (!half)
			continue;
		assert_int_equal(our_clzdi2(half), __builtin_clzll(half));
		assert_int_equal(our_ctzdi2(half), __builtin_ctzll(half));
	}
}

UNIT_TESTS(NULL, NULL)
