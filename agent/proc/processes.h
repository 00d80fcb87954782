/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes as /proc shows them. Where it is not mounted there are none. */
#ifndef RTSCOPE_PROCESSES_H
#define RTSCOPE_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

/* Call @use with the number that each child of this process has in its PID namespace. */
void processes_each_child(void (*use)(pid_t pid));

/*
 * CPU time that this process and all that descend from it have had, those included that a parent
 * has waited for; to a tick, which is 10 ms.
 */
uint64_t processes_cpu_ns(void);

#endif
