/* SPDX-License-Identifier: GPL-2.0-only */
/* Tuning for the time of one measurement. */
#ifndef RTSCOPE_TUNE_SESSION_H
#define RTSCOPE_TUNE_SESSION_H

#include "base/warning.h"
#include "tune/apply.h"

#define TUNE_RULES_MAX 64

/* Read the rules. Returns 0, or -1 with a sentence in @error. */
int tune_session_parse(char **words, unsigned int count, char *error, size_t error_size);

/* The exit latency that the rules allow idle states, the least of it; UINT64_MAX without a limit. */
uint64_t tune_session_latency_ns(void);

/*
 * Report what the rules would change, and change nothing. Returns 0, or -1 with a sentence in
 * @error where this process may not make the changes.
 */
int tune_session_dry_run(const char *journal, tune_report_fn *report, warn_fn *warn, char *error,
			 size_t error_size);

/*
 * Make the changes, check them again a second later, and report all of them. Restores first what an
 * earlier measurement that was killed has left. Returns 0, or -1 with a sentence in @error.
 */
int tune_session_begin(const char *journal, tune_report_fn *report, warn_fn *warn, char *error,
		       size_t error_size);

/*
 * Undo the changes, report those that are otherwise than expected, and warn of those that could not
 * be undone. Does nothing where nothing was begun.
 */
void tune_session_end(warn_fn *warn);

#endif
