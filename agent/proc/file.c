// SPDX-License-Identifier: GPL-2.0-only
/*
 * In one read() or write(): the files of the kernel are made for it, and a second read
 * may return the state of another moment.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/file.h"

size_t file_text(int directory, const char *path, char *text, size_t size)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	if (got < 0)
		got = 0;
	text[got] = '\0';
	return (size_t)got;
}

bool file_put(int directory, const char *path, const char *text)
{
	int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
	bool written;

	if (fd < 0)
		return false;
	written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return written;
}

int directory_next_number(DIR *directory)
{
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			return atoi(entry->d_name);
	}
	return -1;
}
