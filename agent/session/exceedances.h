/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The largest samples of each thread with their times, --exceedances.
 *
 * A measuring thread queues each sample above a threshold. The housekeeping thread keeps them; when
 * it has twice as many as are wanted it raises the threshold and forgets those below. So what is
 * kept in the end is each sample of the run above the last threshold.
 */
#ifndef RTSCOPE_SESSION_EXCEEDANCES_H
#define RTSCOPE_SESSION_EXCEEDANCES_H

#include "session/output.h"

/* Make the queues and the memory. A failure is a warning. */
void exceedances_prepare(struct session *session);

bool exceedances_are_kept(void);

/* Take what was queued since the last call. */
void exceedances_take(void);

/* Take the rest, and write them, a line of each thread. */
void exceedances_write(struct session *session);

#endif
