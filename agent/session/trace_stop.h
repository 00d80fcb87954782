/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stopping the kernel's tracing at the sample that --break asks for.
 *
 * The thread that takes the sample writes the marker and stops the tracing, as
 * cyclictest's does: until an ordinary thread got to run, what made the latency
 * could have left the trace. The files are opened before measuring begins.
 */
#ifndef RTSCOPE_TRACE_STOP_H
#define RTSCOPE_TRACE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/warning.h"

extern uint64_t trace_stop_threshold_ns; /* UINT64_MAX: nothing is to be stopped */

/*
 * Prepare to stop the tracing at a latency of @threshold_ns or more. Does nothing while nothing is
 * traced; warns if that cannot be read, or the tracing cannot be stopped.
 */
void trace_stop_prepare(uint64_t threshold_ns, warn_fn *warn);

/* Write the marker and stop the tracing; the first call alone does. Safe in a signal's handler. */
void trace_stop_now(uint64_t latency_ns);

static inline void trace_stop_at(uint64_t latency_ns)
{
	if (__builtin_expect(latency_ns >= trace_stop_threshold_ns, 0))
		trace_stop_now(latency_ns);
}

/* Report that the tracing was stopped, and where to read the trace. */
void trace_stop_report(warn_fn *warn);

#endif
