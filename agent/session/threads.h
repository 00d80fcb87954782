/* SPDX-License-Identifier: GPL-2.0-only */
/* The measuring threads of a session. */
#ifndef RTSCOPE_SESSION_THREADS_H
#define RTSCOPE_SESSION_THREADS_H

#include "session/output.h"

#define SIGNAL_DONE SIGUSR2 /* sent to the housekeeping thread when one has ended */

/*
 * Plan the threads that the probe wants, with what this user may have of their
 * priorities. Returns 0, or -1 with a sentence in @error.
 */
int threads_plan(struct session *session, warn_fn *warn, char *error, size_t error_size);

/* Make the planned threads, set up and waiting; the same return. */
int threads_start(struct session *session, bool every_sample, char *error, size_t error_size);

/* Keep the calling thread off the CPUs that are measured and, above all, off those that spin. */
void threads_avoid(const struct session *session);

/* Let all threads begin. */
void threads_go(void);

/* End and join all threads, those asleep too. */
void threads_end(struct session *session);

/* Whether the thread is no longer pinned to its CPU. */
bool thread_moved(const struct measuring *measuring);

/* The reason, for a message: it takes up to a second to find. */
const char *thread_moved_why(const struct measuring *measuring);

/* When the last thread that has metrics ended. */
uint64_t threads_ended_ns(const struct session *session);

uint64_t threads_longest_interval_ns(const struct session *session);

#endif
