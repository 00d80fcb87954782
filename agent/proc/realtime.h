/* SPDX-License-Identifier: GPL-2.0-only */
/* Becoming a real-time thread, with a warning if this user may not. */
#ifndef RTSCOPE_REALTIME_H
#define RTSCOPE_REALTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/warning.h"

enum policy {
	POLICY_FIFO,
	POLICY_DEADLINE,
	POLICY_OTHER,
};

struct schedule {
	enum policy policy;
	unsigned int priority; /* 1..99 for FIFO, else 0 */
	uint64_t period_ns;    /* DEADLINE only */
};

/* By enum policy; a NULL last. */
extern const char *const policy_names[];

/* The parameters of a SCHED_DEADLINE thread. */
struct reservation {
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

/* Read those of thread @tid; false if it has another policy, has ended or may not be read. */
bool realtime_deadline(int tid, struct reservation *given);

/* Whether this process may have @schedule. */
bool realtime_may_enter(const struct schedule *schedule);

/*
 * What of @wanted this process is allowed: a lower priority or SCHED_OTHER
 * when it lacks CAP_SYS_NICE, after a warning.
 */
struct schedule realtime_allowed(struct schedule wanted, warn_fn *warn);

/* Give the calling thread @schedule. Returns 0, or -1 with errno. */
int realtime_enter(const struct schedule *schedule);

/* Lock all memory, now and to come; warns where that is refused. */
void realtime_lock_memory(warn_fn *warn);
void realtime_unlock_memory(void);

/* The size of a thread's stack: small, because all of it is locked. */
size_t realtime_stack_size(void);

enum tristate {
	STATE_UNKNOWN = -1,
	STATE_NO,
	STATE_YES,
};

/*
 * Whether timers run at high resolution: the resolution of the clock, and
 * where /proc/timer_list can be read each CPU's own state.
 */
enum tristate realtime_high_resolution(void);

#endif
