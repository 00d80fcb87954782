/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes as /proc lists them. Where it is not mounted there are none. */
#ifndef RTSCOPE_PROCESSES_H
#define RTSCOPE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/thread.h"

/* Call @visit with the main thread of each process until it returns true. Returns whether it did. */
bool processes_any(bool (*visit)(const struct thread *thread, void *data), void *data);

/* Return whether a process with the name @name runs. */
bool process_is_running(const char *name);

/* Call @use with the number that each child of this process has in its PID namespace. */
void processes_each_child(void (*use)(pid_t pid));

/*
 * Return the CPU time that this process and all its descendants have used, those included that a
 * parent has waited for; to a tick, which is 10 ms.
 */
uint64_t processes_cpu_ns(void);

#endif
