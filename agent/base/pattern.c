// SPDX-License-Identifier: GPL-2.0-only
/* Only the last '*' is ever tried again: an earlier one fits enough if a later one does. */
#include "base/pattern.h"

static bool fits_one(char wanted, char c)
{
	if (wanted == *PATTERN_DIGIT || wanted == *PATTERN_NONZERO)
		return c <= '9' && c >= (wanted == *PATTERN_DIGIT ? '0' : '1');
	return wanted == '?' || wanted == c;
}

bool pattern_fits(const char *name, const char *pattern, size_t length)
{
	const char *end = pattern + length, *star = NULL, *resumed = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resumed = name;
		} else if (pattern < end && fits_one(*pattern, *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++resumed;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}
