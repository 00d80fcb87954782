/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic to keep a CPU's units busy with, in registers alone.
 *
 * A step is WORK_CHAINS multiply-adds that do not wait for each other, enough to
 * fill the units of any core: two hardware threads that share one then slow each
 * other. The scalar form computes on 64-bit integers, the vector form on
 * work_vector_lanes() floats at once.
 */
#ifndef RTSCOPE_WORK_H
#define RTSCOPE_WORK_H

#include <stdint.h>

#define WORK_CHAINS 8

typedef void work_fn(uint64_t steps);

work_fn work_scalar;

/* By the widest vector unit that compiler and CPU have; by scalars where there is none. */
work_fn work_vector;

/* Such as "avx2"; NULL where there is none. */
const char *work_vector_name(void);
unsigned int work_vector_lanes(void);

#endif
