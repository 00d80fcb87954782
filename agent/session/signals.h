/* SPDX-License-Identifier: GPL-2.0-only */
/* The signals that a session waits for: those that end it, and SIGNAL_DONE of its threads. */
#ifndef RTSCOPE_SESSION_SIGNALS_H
#define RTSCOPE_SESSION_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Block the signals, so that only the functions below receive them, and ignore SIGPIPE. */
void session_block_signals(void);

/* Wait for a signal until @timeout. Returns its number, or -1. */
int session_wait_for_signal(const struct timespec *timeout);

/* Return whether the signal @number ends the session. */
bool session_is_ended_by(int number);

/*
 * Call @written, which waits until a given time, until it returns true: the reader of the output
 * has taken everything. Returns false if a signal ended the wait.
 */
bool session_wait_for_reader(bool (*written)(uint64_t until_ns));

#endif
