// SPDX-License-Identifier: GPL-2.0-only
/* The kernel escapes line ends in the name, the only value that a program chooses. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/file.h"
#include "proc/status.h"

#define STATUS_SIZE (128 << 10) /* its longest lines: groups, and CPU lists of huge machines */

static const char *read_file(int directory, const char *path)
{
	static char text[STATUS_SIZE];

	return file_text(directory, path, text, sizeof(text)) ? text : NULL;
}

const char *status_read(int directory)
{
	return read_file(directory, "status");
}

const char *status_read_pid(int pid)
{
	char path[32] = "/proc/self/status";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_file(AT_FDCWD, path);
}

const char *status_value(const char *status, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = status; *line; line += *line == '\n') {
		if (!strncmp(line, key, length) && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
		line += strcspn(line, "\n");
	}
	return NULL;
}

bool status_copy(const char *status, const char *key, char *value, size_t size)
{
	const char *text = status_value(status, key);

	if (text)
		snprintf(value, size, "%.*s", (int)strcspn(text, "\n"), text);
	return text;
}

unsigned int status_numbers(const char *status, const char *key, uint64_t *numbers,
			    unsigned int most)
{
	const char *text = status_value(status, key);
	unsigned int count = 0;

	while (text && count < most && *text >= '0' && *text <= '9') {
		char *end;

		numbers[count++] = strtoull(text, &end, 10);
		text = end + strspn(end, " \t");
	}
	return count;
}

bool status_number(const char *status, const char *key, uint64_t *number)
{
	return status_numbers(status, key, number, 1) == 1;
}
