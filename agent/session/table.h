/* SPDX-License-Identifier: GPL-2.0-only */
/* What a person reads of a session: cyclictest's lines, and more below them. */
#ifndef RTSCOPE_SESSION_TABLE_H
#define RTSCOPE_SESSION_TABLE_H

#include "session/output.h"

/* The threads so far, over those that were drawn before. */
void table_draw(struct session *session);

/* The threads' last metrics, the probe's own, and the work of the loads. */
void table_finish(struct session *session, uint64_t end_ns);

#endif
