/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a session that a unit test needs to run a probe's own functions. */
#ifndef RTSCOPE_NO_SESSION_H
#define RTSCOPE_NO_SESSION_H

#include <pthread.h>
#include <sched.h>

#include "session/session.h"

#define LEASE_LATE_NS (200 * NSEC_PER_MSEC)

/* The metric @key as the probe reported it first; -1 without it. */
double metric(const struct measuring *measuring, const char *key);

/* A measurement of @samples periods of 1 ms that begins now, under a lease that does not end. */
struct measuring leased(uint64_t samples);

/* End its lease now and renew it after LEASE_LATE_NS. The thread that does so is to be joined. */
pthread_t lease_late(struct measuring *measuring);

/* Run on the last CPU that this thread may use, and return its number. @before: all of them. */
int move_to_last_cpu(cpu_set_t *before);

#endif
