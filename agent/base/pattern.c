// SPDX-License-Identifier: GPL-2.0-only
/* Names by pattern. A '*' that fits too little is the only one that is ever tried again. */
#include "base/pattern.h"

bool pattern_fits(const char *name, const char *pattern, size_t length)
{
	const char *end = pattern + length, *star = NULL, *resumed = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resumed = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
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
