// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arithmetic by gcc's vector extensions: one body, compiled for each unit of the
 * architecture, the widest of which the CPU is asked for. The multiply-adds
 * converge, so that no step meets an infinity or a denormal number. The empty
 * assembly takes the results, or a compiler that sees all files would leave out the work.
 */
#include <stddef.h>
#include <sys/auxv.h>

#include "probe/work.h"

#define HWCAP_ALTIVEC 0x10000000 /* powerpc's PPC_FEATURE_HAS_ALTIVEC */

#define EACH_CHAIN(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)

void work_scalar(uint64_t steps)
{
	uint64_t factor = 0x5851f42d4c957f2d;
#define BEGIN(n) uint64_t x##n = n;
#define STEP(n)	 x##n = x##n * factor + n;
#define END(n)	 __asm__ volatile("" : : "r"(x##n));
	EACH_CHAIN(BEGIN)
	__asm__ volatile("" : "+r"(factor));
	while (steps--) {
		EACH_CHAIN(STEP)
	}
	EACH_CHAIN(END)
#undef BEGIN
#undef STEP
#undef END
}

#define BEGIN(n) floats x##n = { n };
#define STEP(n)	 x##n = x##n * factor + addend;
#define ADD(n)	 sum += x##n;

#define DEFINE_VECTOR(name, bytes, attributes)                                                    \
	static attributes void name(uint64_t steps)                                               \
	{                                                                                         \
		typedef float floats __attribute__((vector_size(bytes)));                         \
		floats factor = (floats){ 0 } + 0.5f, addend = (floats){ 0 } + 1.0f, sum = { 0 }; \
		EACH_CHAIN(BEGIN)                                                                 \
		while (steps--) {                                                                 \
			EACH_CHAIN(STEP)                                                          \
		}                                                                                 \
		EACH_CHAIN(ADD)                                                                   \
		__asm__ volatile("" : : "r"(&sum) : "memory");                                    \
	}

struct unit {
	const char *name;
	unsigned int lanes;
	work_fn *work;
};

#if defined(__x86_64__)

DEFINE_VECTOR(vector_sse2, 16, )
DEFINE_VECTOR(vector_avx2, 32, __attribute__((target("avx2,fma"))))

static struct unit unit(void)
{
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return (struct unit){ "avx2", 8, vector_avx2 };
	return (struct unit){ "sse2", 4, vector_sse2 };
}

#elif defined(__powerpc64__)

DEFINE_VECTOR(vector_none, 4, )
DEFINE_VECTOR(vector_altivec, 16, __attribute__((target("altivec"))))

static struct unit unit(void)
{
	if (getauxval(AT_HWCAP) & HWCAP_ALTIVEC)
		return (struct unit){ "altivec", 4, vector_altivec };
	return (struct unit){ NULL, 1, vector_none };
}

#elif defined(__aarch64__) || defined(__riscv_vector)

DEFINE_VECTOR(vector_fixed, 16, )

static struct unit unit(void)
{
#ifdef __aarch64__
	return (struct unit){ "neon", 4, vector_fixed };
#else
	return (struct unit){ "rvv", 4, vector_fixed };
#endif
}

#else

DEFINE_VECTOR(vector_none, 4, )

static struct unit unit(void)
{
	return (struct unit){ NULL, 1, vector_none };
}

#endif

void work_vector(uint64_t steps)
{
	unit().work(steps);
}

const char *work_vector_name(void)
{
	return unit().name;
}

unsigned int work_vector_lanes(void)
{
	return unit().lanes;
}
