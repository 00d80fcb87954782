// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "proc/cpu_latency.h"

int cpu_latency_read(int32_t *limit_us)
{
	int fd = open(CPU_LATENCY_DEVICE, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int error;

	if (fd < 0)
		return errno;
	got = read(fd, limit_us, sizeof(*limit_us));
	error = got < 0 ? errno : got == sizeof(*limit_us) ? 0 : EIO;
	close(fd);
	return error;
}

int cpu_latency_set(int *fd, int32_t limit_us)
{
	if (*fd < 0)
		*fd = open(CPU_LATENCY_DEVICE, O_WRONLY | O_CLOEXEC);
	if (*fd < 0)
		return errno;
	return write(*fd, &limit_us, sizeof(limit_us)) == sizeof(limit_us) ? 0 : errno;
}
