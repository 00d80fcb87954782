// SPDX-License-Identifier: GPL-2.0-only
#include "probe/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int kernel_log = -1; /* behind what was said before */

int device_open(const char *module, int flags, char *error, size_t error_size)
{
	char path[32];
	int fd;

	if (kernel_log < 0) {
		kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		lseek(kernel_log, 0, SEEK_END);
	}
	snprintf(path, sizeof(path), "/dev/%s", module);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		snprintf(error, error_size,
			 "there is no %s: load the module %s (make modules builds it for the running kernel; on a lab kernel it is loaded by itself)",
			 path, module);
	else if (fd < 0)
		snprintf(error, error_size, "%s cannot be opened: %s%s", path, strerror(errno),
			 errno == EACCES ? "; it takes root" : "");
	return fd;
}

/* Records of /dev/kmsg begin with numbers up to a semicolon; further lines are their properties. */
void device_said(const char *module, char *said, size_t said_size)
{
	size_t length = strlen(module);
	char record[1024];
	ssize_t size;

	snprintf(said, said_size, "the kernel's log (dmesg) says more");
	while ((size = read(kernel_log, record, sizeof(record) - 1)) > 0 ||
	       (size < 0 && errno == EPIPE)) {
		char *text;

		record[size > 0 ? size : 0] = '\0';
		text = strchr(record, ';');
		if (text && !strncmp(text + 1, module, length) && text[1 + length] == ':')
			snprintf(said, said_size, "%.*s", (int)strcspn(text + length + 3, "\n"),
				 text + length + 3);
	}
}
