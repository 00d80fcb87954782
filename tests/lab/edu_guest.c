// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine of 512 MiB with QEMU's device edu, which reaches the lower half of
 * them and belongs to one file of the module rtdaq at a time. It writes "@ what: result" for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <rtdaq/rtdaq.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define HALF  ((size_t)256 << 20)
#define AREA  (HALF + ((size_t)48 << 20)) /* so large that it lies in both halves */
#define STEP  ((size_t)1 << 20)
#define BYTES 2048 /* of the smallest event */

static int open_device(void)
{
	return open("/dev/rtdaq", O_RDWR | O_CLOEXEC);
}

static int set_up(int fd, const void *buffer)
{
	struct rtdaq_setup setup = {
		.period_ns = RTDAQ_EDU_NS(BYTES),
		.buffer = (uintptr_t)buffer,
		.transfer = RTDAQ_SCATTER,
		.device = RTDAQ_EDU,
		.channels = 1,
		.samples = BYTES / 2 / RTDAQ_SAMPLE_BYTES,
	};

	return ioctl(fd, RTDAQ_SETUP, &setup) ? errno : 0;
}

/* The first that a set-up answers with 0 or EIO, as @wanted; NULL: none, or it is wrong in itself. */
static const char *find_page(const char *area, int wanted)
{
	for (size_t at = 0; at < AREA; at += STEP) {
		int fd = open_device(), result = set_up(fd, area + at);

		close(fd);
		if (result == wanted)
			return area + at;
		if (result && result != EIO)
			break;
	}
	return NULL;
}

int main(void)
{
	const char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	const char *near;
	int one, other;

	port_open();
	mount_at("/proc", "proc");
	kernel_tells_all();
	printf("@ load: %d\n", module_load("rtdaq", ""));
	near = find_page(area, 0);
	printf("@ near: %s\n", near ? "reached" : "refused");
	printf("@ far: %s\n", find_page(area, EIO) ? "refused" : "reached");
	one = open_device();
	other = open_device();
	printf("@ one: %d\n", set_up(one, near));
	printf("@ other: %s\n", strerror(set_up(other, near)));
	close(one);
	printf("@ other after it: %d\n", set_up(other, near));
	close(other);
	printf("@ unload: %d\n", module_unload("rtdaq"));
	port_end();
}
