/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counter that this architecture lets a program read, without a barrier:
 * what is measured is the instruction. It may be forbidden (SIGILL, SIGSEGV) or
 * emulated by the kernel: try it in a child first.
 */
#ifndef RTSCOPE_COUNTER_H
#define RTSCOPE_COUNTER_H

#include <stdint.h>

#if defined(__x86_64__)

#define COUNTER_NAME "rdtsc"
#define COUNTER_BITS 64

static inline uint64_t counter_read(void)
{
	return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

#define COUNTER_NAME "cntvct_el0"
#define COUNTER_BITS 64

static inline uint64_t counter_read(void)
{
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

#elif defined(__riscv) && __riscv_xlen == 64

#define COUNTER_NAME "rdtime"
#define COUNTER_BITS 64

static inline uint64_t counter_read(void)
{
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count;
}

#elif defined(__powerpc64__)

#define COUNTER_NAME "mftb"
#define COUNTER_BITS 64

static inline uint64_t counter_read(void)
{
	uint64_t count;

	__asm__ volatile("mfspr %0, 268" : "=r"(count));
	return count;
}

#elif defined(__mips__)

#define COUNTER_NAME "rdhwr"
#define COUNTER_BITS 32

/* rdhwr $3, $2, in its bits: MIPS III has no such instruction and its kernels emulate it. */
static inline uint64_t counter_read(void)
{
	register uint64_t count __asm__("$3");

	__asm__ volatile(".word 0x7c03103b" : "=r"(count));
	return (uint32_t)count;
}

#endif

#endif
