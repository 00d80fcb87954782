/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that explain a late sample: which of them a kernel has, and how they are laid out. */
#ifndef RTSCOPE_TRACE_EVENTS_H
#define RTSCOPE_TRACE_EVENTS_H

#include <stdbool.h>

struct json;

/* What is recorded in addition, at a high cost: --explain-deep. */
enum trace_deep {
	TRACE_DEEP_NONE,
	TRACE_DEEP_PREEMPTIRQ,
	TRACE_DEEP_FUNCTION,
	TRACE_DEEP_IRQSOFF,
	TRACE_DEEP_PREEMPTOFF,
};

extern const char *const trace_deep_names[];

/*
 * Enable each event that this kernel has in the instance @folder. Returns their number. The events
 * of TRACE_DEEP_PREEMPTIRQ are enabled only for it.
 */
unsigned int trace_events_enable(int folder, enum trace_deep deep);

/* Write the arrays "events", with their formats, and "missing", the names that this kernel lacks. */
void trace_events_write(int folder, enum trace_deep deep, struct json *json);

#endif
