// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping an emulated machine for a snapshot, at the same instruction on every host.
 *
 * A machine that the host stops is stopped wherever it is by then, and another
 * host would make another snapshot. So it stops itself: QEMU stops a machine
 * whose kernel tells the device pvpanic that it panicked, right there, and this
 * program tells it through the device's registers.
 *
 * A stopped machine is idle to QEMU, which therefore moves the virtual clock on
 * to the next timer before it sees that it was to stop; only where its main
 * thread is quicker than that does the clock stand. That thread sleeps while
 * the machine computes, so the machine does, for a while. A snapshot with a
 * clock that stood all the same would be another one, so it is refused.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/snapshot.h"

#define DEVICES	     "/sys/bus/pci/devices"
#define PVPANIC	     "pci:v00001B36d00000011"
#define PANICKED     1
#define COMPUTE_NS   (5 * NSEC_PER_MSEC)
#define MOVED_MIN_NS (20 * NSEC_PER_USEC)

static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	return read;
}

/* Puts the directory of the device into @path. */
static bool find_device(char *path, size_t size)
{
	DIR *directory = opendir(DEVICES);
	const struct dirent *entry;
	char modalias[320], line[128];
	bool found = false;

	if (!directory)
		return false;
	while (!found && (entry = readdir(directory))) {
		snprintf(path, size, DEVICES "/%s", entry->d_name);
		snprintf(modalias, sizeof(modalias), "%s/modalias", path);
		found = read_line(modalias, line, sizeof(line)) &&
			!strncmp(line, PVPANIC, strlen(PVPANIC));
	}
	closedir(directory);
	return found;
}

static void enable(const char *device)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/enable", device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		perror("rtscope-agent: cannot enable the device pvpanic");
	if (fd >= 0)
		close(fd);
}

/* The device's one register; NULL where it cannot be reached. */
static volatile uint8_t *map_register(const char *device)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[320], line[128];
	uint8_t *mapped;
	uint64_t start;
	int fd;

	snprintf(path, sizeof(path), "%s/resource", device);
	if (!read_line(path, line, sizeof(line)))
		return NULL;
	start = strtoull(line, NULL, 16);
	snprintf(path, sizeof(path), "%s/resource0", device);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mapped == MAP_FAILED ? NULL : mapped + start % page;
}

bool snapshot_stop(void)
{
	volatile uint8_t *reg = NULL;
	char device[300];
	uint64_t before_ns, moved_ns;

	if (find_device(device, sizeof(device))) {
		enable(device);
		reg = map_register(device);
	}
	if (!reg) {
		fputs("rtscope-agent: there is no device pvpanic to stop the machine with\n",
		      stderr);
		return false;
	}
	clock_work(COMPUTE_NS);
	before_ns = clock_now_ns();
	*reg = PANICKED;
	moved_ns = clock_now_ns() - before_ns;
	if (moved_ns >= MOVED_MIN_NS)
		return true;
	fputs("rtscope-agent: the machine was stopped before its clock moved on\n", stderr);
	return false;
}
