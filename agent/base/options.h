/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers and times as people write them on a command line. */
#ifndef RTSCOPE_OPTIONS_H
#define RTSCOPE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read "200us", "1.5ms" or "30s" into nanoseconds; a bare number counts
 * @bare_unit_ns each. Returns false when @text is no such time.
 */
bool option_time(const char *text, uint64_t bare_unit_ns, uint64_t *ns);

/* Read a decimal number of at most @max. Returns false when @text is none. */
bool option_number(const char *text, uint64_t max, uint64_t *number);

/* Say in @error that @text, which was given for @option, is not @wanted. Returns -1. */
int option_refuse(const char *option, const char *text, const char *wanted, char *error,
		  size_t error_size);

#endif
