/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads' policies, niceness and CPUs, as rules want them. */
#ifndef RTSCOPE_TUNE_THREADS_H
#define RTSCOPE_TUNE_THREADS_H

#include "base/warning.h"
#include "proc/thread.h"
#include "tune/change.h"
#include "tune/rules.h"

#define TUNE_THREAD_KEY_SIZE 48

/* The key of a thread, which no other thread has until the next boot. */
void tune_thread_key(const struct thread *thread, char key[TUNE_THREAD_KEY_SIZE]);

/*
 * Add to @plan what the rules change of all threads. The agent's own are left as they are, and
 * those that started it keep their policy. Returns 0, or -1 with errno where there is no /proc.
 */
int tune_threads_resolve(const struct tune_rules *rules, struct tune_plan *plan, warn_fn *warn);

/* The same of one thread, where it is there. */
void tune_thread_resolve(const struct tune_rules *rules, int tid, struct tune_plan *plan);

/* Whether the rule that asked for a thread's change still asks for it; true where it has ended. */
bool tune_thread_is_wanted(const struct tune_change *change);

#endif
