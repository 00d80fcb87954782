/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions that gcc calls where a CPU has no instruction for the job.
 *
 * They live in libgcc, but Debian builds its libgcc for MIPS64r2 and, on
 * powerpc64, for ELFv1: neither can be part of an agent for MIPS III or for
 * musl. These few stand in for it there; names and semantics are libgcc's.
 */
#include <stdint.h>

typedef unsigned __int128 uint128_t;

int __clzdi2(uint64_t value);
int __ctzdi2(uint64_t value);
uint128_t __udivti3(uint128_t dividend, uint128_t divisor);
double __floatuntidf(uint128_t value);

int __clzdi2(uint64_t value)
{
	int zeros = 0, bits;

	for (bits = 32; bits; bits /= 2) {
		if (value >> (64 - bits))
			continue;
		value <<= bits;
		zeros += bits;
	}
	return zeros;
}

int __ctzdi2(uint64_t value)
{
	return 63 - __clzdi2(value & -value);
}

/* One bit a step: it is used once a run, on sums, never between wake-ups. */
uint128_t __udivti3(uint128_t dividend, uint128_t divisor)
{
	uint128_t quotient = 0, rest = 0;
	int bit;

	for (bit = 127; bit >= 0; bit--) {
		int carry = rest >> 127;

		rest = rest << 1 | (dividend >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= 1;
		}
	}
	return quotient;
}

/*
 * The top 64 significant bits, the last of them set when anything below is,
 * round to 53 bits exactly as the whole number does.
 */
double __floatuntidf(uint128_t value)
{
	uint64_t high = value >> 64, top;
	double scale = 1;
	int shift;

	if (!high)
		return (double)(uint64_t)value;
	shift = 64 - __clzdi2(high);
	top = value >> shift;
	if (value != (uint128_t)top << shift)
		top |= 1;
	while (shift--)
		scale *= 2;
	return (double)top * scale;
}
