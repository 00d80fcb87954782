/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checks of the housekeeping thread. Each reports what it finds, and returns the status with
 * which the session has to end, or NULL.
 */
#ifndef RTSCOPE_SESSION_CHECKS_H
#define RTSCOPE_SESSION_CHECKS_H

#include "session/output.h"

/* The interval between two checks of the threads. */
uint64_t session_tick_ns(void);

/* Check how threads have ended, and whether they run where they should. */
const char *check_threads(const struct session *session);

/* Check whether a thread starves its CPU, and whether the loads are alive. */
const char *check_system(const struct session *session, uint64_t now_ns);

/* Warn once if a load has ended. */
void check_loads(const struct session *session);

/* Warn once if the housekeeping thread stood still: then a latency is not the kernel's alone. */
void check_stall(const struct session *session, uint64_t asleep_ns);

#endif
