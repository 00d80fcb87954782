/* SPDX-License-Identifier: GPL-2.0-only */
/* Tuning for the time of one measurement. */
#ifndef RTSCOPE_SYSTEM_TUNE_SESSION_H
#define RTSCOPE_SYSTEM_TUNE_SESSION_H

#include "base/json.h"
#include "base/warning.h"

#define TUNE_RULES_MAX 64

/* Read the rules. Returns 0, or -1 with a sentence in @error. */
int tune_session_parse(char **words, unsigned int count, char *error, size_t error_size);

/* The exit latency that the rules allow idle states, the least of it; UINT64_MAX without a limit. */
uint64_t tune_session_latency_ns(void);

/*
 * Tell what would be changed; nothing is. @json is NULL where a person reads. Returns 0, or -1 with
 * a sentence in @error where this process may not do it.
 */
int tune_session_rehearse(const char *journal, struct json *json, warn_fn *warn, char *error,
			  size_t error_size);

/*
 * Change it, look again a second later, and tell all changes. What an earlier measurement that was
 * killed has left is taken back first. Returns 0, or -1 with a sentence in @error.
 */
int tune_session_begin(const char *journal, struct json *json, warn_fn *warn, char *error,
		       size_t error_size);

/* Take it back, and warn of what could not be. Does nothing where nothing was begun. */
void tune_session_end(warn_fn *warn);

#endif
