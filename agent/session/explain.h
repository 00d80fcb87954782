/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's trace while a session measures: around late samples (--explain, --above), of who had
 * the CPUs (--league), and for probes whose samples come from it.
 *
 * A measuring thread only queues its late samples. The housekeeping thread copies the trace around
 * them. Without these options nothing here does anything.
 */
#ifndef RTSCOPE_SESSION_EXPLAIN_H
#define RTSCOPE_SESSION_EXPLAIN_H

#include "session/output.h"

/*
 * Make the trace instance, and the queues of the threads. A failure is a warning, and the session
 * goes on; only a probe that needs the trace fails: -1, with a sentence in @error.
 */
int explain_prepare(struct session *session, char *error, size_t error_size);

/* Start recording. */
void explain_start(void);

bool explain_is_on(void);

/* Read the trace, and copy it around late samples that came since the last call. */
void explain_copy(struct session *session);

/* Stop recording. */
void explain_stop(struct session *session);

/* Write the formats of the events and the windows that were not written yet. */
void explain_write(struct session *session);

/* Remove what was made in the kernel. */
void explain_close(void);

#endif
