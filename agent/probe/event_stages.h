/* SPDX-License-Identifier: GPL-2.0-only */
/* What became of a device's events between its interrupt and the program. */
#ifndef RTSCOPE_EVENT_STAGES_H
#define RTSCOPE_EVENT_STAGES_H

#include "rtevent/rtevent.h"
#include "session/session.h"

enum {
	STAGE_DUE_TO_INTERRUPT,
	STAGE_INTERRUPT_TO_THREAD,
	STAGE_THREAD_TO_WAKE,
	STAGE_WAKE_TO_USER,
	STAGES,
};

struct stages {
	uint64_t count[STAGES];
	uint64_t sum_ns[STAGES];
	uint64_t max_ns[STAGES];
};

#define STAGES_METRICS                                                                          \
	"due_to_interrupt_max_ns", "interrupt_to_thread_mean_ns", "interrupt_to_thread_max_ns", \
		"thread_to_wake_mean_ns", "thread_to_wake_max_ns", "wake_to_user_mean_ns",      \
		"wake_to_user_max_ns"

/* A program had @event at @taken_ns. */
void stages_add(struct stages *stages, const struct rtevent_event *event, uint64_t taken_ns);

/* Add the metrics of the stages that there were. */
void stages_report(const struct stages *stages, struct measuring *measuring);

#endif
