/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limit of the exit latency of idle states (PM QoS). The kernel keeps a limit while the process
 * that set it has the device open, and the least limit of all processes is in effect.
 */
#ifndef RTSCOPE_CPU_LATENCY_H
#define RTSCOPE_CPU_LATENCY_H

#include <stdint.h>

#define CPU_LATENCY_DEVICE "/dev/cpu_dma_latency"

/* Read the limit in effect. Returns 0 or an errno. */
int cpu_latency_read(int32_t *limit_us);

/* Set the limit of this process by *@fd, which is opened if it is below 0. Returns 0 or an errno. */
int cpu_latency_set(int *fd, int32_t limit_us);

#endif
