/* SPDX-License-Identifier: GPL-2.0-only */
/* Names by pattern. */
#ifndef RTSCOPE_PATTERN_H
#define RTSCOPE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether @name fits the first @length bytes of @pattern, where '*' is any text and '?' any byte.
 * The libc's fnmatch() would bring tables of all the world's letters, 25 KB.
 */
bool pattern_fits(const char *name, const char *pattern, size_t length);

#endif
