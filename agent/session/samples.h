/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of all samples, --samples-file. Without that option nothing here does anything. */
#ifndef RTSCOPE_SESSION_SAMPLES_H
#define RTSCOPE_SESSION_SAMPLES_H

#include "session/output.h"

/* Create the file @path, NULL for none. Returns 0, or -1 with a sentence in @error. */
int samples_open(const char *path, char *error, size_t error_size);

bool samples_are_wanted(void);

/* Let the writer run on the CPUs of the calling thread only. */
void samples_follow(void);

/*
 * Return whether a ring fills. Formatting and writing samples disturbs the measurement, above all
 * on a single CPU, so it is put off until then or to the end.
 */
bool samples_are_due(const struct session *session);

/* Move samples from the rings to the file. They stay in the rings while the disk is slower. */
void samples_drain(const struct session *session);

/* Write the rest, and warn if samples are missing. */
void samples_close(const struct session *session);

#endif
