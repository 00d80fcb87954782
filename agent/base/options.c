// SPDX-License-Identifier: GPL-2.0-only
/* Numbers and times as people write them on a command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "min", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "d", 86400 * NSEC_PER_SEC },
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

bool option_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (!digit(*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end && *number <= max;
}

int option_refuse(const char *option, const char *text, const char *wanted, char *error,
		  size_t error_size)
{
	snprintf(error, error_size, "%s '%s' is not %s", option, text, wanted);
	return -1;
}

bool option_time(const char *text, uint64_t bare_unit_ns, uint64_t *ns)
{
	uint64_t scale = 0, fraction;
	char *end;

	if (!digit(*text))
		return false;
	errno = 0;
	*ns = strtoull(text, &end, 10);
	text = end;
	if (*text == '.')
		for (text++; digit(*text);)
			text++;
	if (!*text)
		scale = bare_unit_ns;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(text, units[i].name))
			scale = units[i].ns;
	}
	if (errno || !scale || *ns > INT64_MAX / scale)
		return false;
	*ns *= scale;
	for (fraction = scale / 10; *end == '.' || digit(*end); end++) {
		if (*end == '.')
			continue;
		*ns += (uint64_t)(*end - '0') * fraction;
		fraction /= 10;
	}
	return *ns <= INT64_MAX;
}
