/* SPDX-License-Identifier: GPL-2.0-only */
/* How often a CPU was taken from who ran there, as the kernel counts it. */
#ifndef RTSCOPE_CPU_COUNTS_H
#define RTSCOPE_CPU_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_counts {
	uint64_t device_interrupts; /* those with a number in /proc/interrupts */
	bool switches_known;
	uint64_t switches; /* times that a thread got the CPU */
};

/* Since the boot. */
void cpu_counts_read(unsigned int cpu, struct cpu_counts *counts);

#endif
