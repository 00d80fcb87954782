/* SPDX-License-Identifier: GPL-2.0-only */
/* Matching names by wildcards. */
#ifndef RTSCOPE_PATTERN_H
#define RTSCOPE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Two wildcards for patterns in the code: characters that no name has. */
#define PATTERN_DIGIT	  "\x01"
#define PATTERN_NONZERO	  "\x02" /* a digit but 0 */
#define PATTERN_WILDCARDS "*?" PATTERN_DIGIT PATTERN_NONZERO

/*
 * Return whether @name fits the first @length bytes of @pattern, where '*' matches any text and '?'
 * any one byte. The libc's fnmatch() would add tables of all the world's letters, 25 KB.
 */
bool pattern_fits(const char *name, const char *pattern, size_t length);

#endif
