/* SPDX-License-Identifier: GPL-2.0-only */
/* Keep rules in effect while threads, interrupts and CPUs come and go. */
#ifndef RTSCOPE_TUNE_HOLD_H
#define RTSCOPE_TUNE_HOLD_H

#include "proc/monitor.h"
#include "tune/apply.h"

struct holding {
	struct tune_rules *rules;
	struct journal *journal;
	const char *profile;
	tune_report_fn *report;
	uint64_t poll_ns;     /* time between two reads of what others may set back; 0: never */
	uint64_t poll_due_ns; /* the next; of CLOCK_MONOTONIC, 0: none */
	struct monitor monitor;
	size_t drop_at; /* entries of the journal */
};

/*
 * Start the monitor, before the rules are applied, so that no event in between is lost; and move
 * the calling thread away from the CPUs that the rules reserve. Returns 0, or -1 with a sentence in
 * @error.
 */
int hold_begin(struct holding *holding, char *error, size_t error_size);

/*
 * Apply the rules to new threads, interrupts and CPUs until SIGINT, SIGTERM or SIGHUP, which are blocked, or until
 * nobody reads standard output. Returns 0, or -1 with a sentence in @error where it had to end.
 */
int hold_on(struct holding *holding, char *error, size_t error_size);

#endif
