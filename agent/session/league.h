/* SPDX-License-Identifier: GPL-2.0-only */
/* How long each program had a measured CPU, --league: from the switches in the kernel's trace. */
#ifndef RTSCOPE_SESSION_LEAGUE_H
#define RTSCOPE_SESSION_LEAGUE_H

#include "session/output.h"
#include "trace/sched.h"

/* Count on the measured CPUs. A failure is a warning; then nothing is counted. */
void league_prepare(const struct session *session);

bool league_is_kept(void);

/* Take a switch. */
void league_take(const struct sched_event *event);

/* Events of @cpu are missing: the time until its next switch belongs to nobody. */
void league_lose(unsigned int cpu);

/* Write the line "league". */
void league_write(struct session *session);

#endif
