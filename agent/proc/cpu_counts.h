/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's counts of interrupts and context switches of a CPU. */
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
