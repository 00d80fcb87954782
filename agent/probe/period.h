/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ways to write a periodic loop: what it sleeps for between two periods.
 *
 * relative, compensated and absolute are those of the kernel driver report. A
 * relative sleep makes each period longer by the work and by the wake-up; less
 * the time since the last wake-up it is longer by the wake-up alone. The other
 * two keep to the grid of the first deadline: after a delay, absolute runs at
 * once for every deadline that has passed, and timerfd once for all of them.
 */
#ifndef RTSCOPE_PERIOD_H
#define RTSCOPE_PERIOD_H

#include <stdint.h>

enum method {
	RELATIVE,
	COMPENSATED,
	ABSOLUTE,
	TIMERFD,
	METHODS,
};

extern const char *const method_names[METHODS];

struct period {
	enum method method;
	int timer; /* a file, of TIMERFD alone */
	uint64_t interval_ns;
	uint64_t woke_ns; /* the period's beginning, by the loop's clock: set by the loop */
	uint64_t due_ns;  /* the deadline that it began with, where there is one */
	uint64_t missed;  /* deadlines that passed without a period */
};

/* Returns 0, or an error number. */
int period_open(struct period *period, enum method method, uint64_t interval_ns);
void period_close(struct period *period);

/* The first period begins at @due_ns. Returns 0, or an error number. */
int period_begin(struct period *period, uint64_t due_ns);

/* When the sleep for the next period would end. */
uint64_t period_next_ns(const struct period *period);

/* Sleep until then. Returns 0, or an error number when the sleep was ended. */
int period_sleep(struct period *period);

#endif
