/* SPDX-License-Identifier: GPL-2.0-only */
/* The isolated cpusets that tuning makes: a thread has to join one to run on its CPUs. */
#ifndef RTSCOPE_PARTITION_H
#define RTSCOPE_PARTITION_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define PARTITION_PREFIX    "rtscope.isolated-"
#define PARTITION_PATH_SIZE 448

/* Where cgroups of version 2 are mounted; false where they are not. */
bool partition_root(char *path, size_t size);

/* The CPUs of all partitions. */
void partition_cpus(cpu_set_t *cpus);

/* Put the calling thread into the partition that has @cpu; whether there is one that took it. */
bool partition_join(unsigned int cpu);

#endif
