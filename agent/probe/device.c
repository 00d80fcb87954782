// SPDX-License-Identifier: GPL-2.0-only
#include "probe/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int device_open(const char *module, int flags, char *error, size_t error_size)
{
	char path[32];
	int fd;

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
