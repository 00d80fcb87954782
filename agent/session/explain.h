/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's trace around the worst samples, --explain.
 *
 * A measuring thread only queues its worst samples. The housekeeping thread copies the trace around
 * those that are among the worst of all threads so far. Without the option nothing here does anything.
 */
#ifndef RTSCOPE_SESSION_EXPLAIN_H
#define RTSCOPE_SESSION_EXPLAIN_H

#include "session/output.h"

/* Make the trace instance, and the queues of the threads. A failure is a warning. */
void explain_prepare(const struct session *session);

/* Start recording. */
void explain_start(void);

bool explain_is_on(void);

/* Copy the trace around late samples that came since the last call. */
void explain_copy(const struct session *session);

/* Stop recording. */
void explain_stop(const struct session *session);

/* Write the formats of the events and the windows. */
void explain_write(struct session *session);

/* Remove what was made in the kernel. */
void explain_close(void);

#endif
