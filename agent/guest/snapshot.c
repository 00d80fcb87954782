// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping an emulated machine for a snapshot, at the same instant on every host.
 *
 * A machine that the host stops is stopped wherever it is by then, and another
 * host would make another snapshot. So it stops itself, by a watchdog whose bite
 * QEMU answers by a stop. It bites while the machine sleeps: virtual time then
 * goes from timer to timer, and QEMU stops at the watchdog's before anything else
 * can run. A device that stops the machine from a register's write will not do,
 * for how far the machine gets before QEMU's main thread stops it is a race.
 *
 * The registers are those of the Intel 6300ESB's watchdog: its two stages count
 * down, and at the end of the second it bites.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "guest/snapshot.h"

#define DEVICES		  "/sys/bus/pci/devices"
#define WATCHDOG	  "pci:v00008086d000025AB"
#define CONFIG_REG	  0x60
#define CONFIG_1MHZ	  4
#define CONFIG_NO_IRQ	  3
#define LOCK_REG	  0x68
#define LOCK_ENABLE	  2
#define PRELOAD_1	  0x0
#define PRELOAD_2	  0x4
#define RELOAD		  0xc
#define UNLOCK_1	  0x80
#define UNLOCK_2	  0x86
#define RELOAD_HAS_BITTEN 0x1000
#define STAGE_TICKS	  5000 /* of about 1 us */
#define SLEEP_NS	  (30 * NSEC_PER_MSEC)

/* Puts the directory of the device into @path. */
static bool find_device(char *path, size_t size)
{
	DIR *directory = opendir(DEVICES);
	const struct dirent *entry;
	char modalias[320], text[128];
	bool found = false;

	if (!directory)
		return false;
	while (!found && (entry = readdir(directory))) {
		snprintf(path, size, DEVICES "/%s", entry->d_name);
		snprintf(modalias, sizeof(modalias), "%s/modalias", path);
		found = file_text(AT_FDCWD, modalias, text, sizeof(text)) &&
			!strncmp(text, WATCHDOG, strlen(WATCHDOG));
	}
	closedir(directory);
	return found;
}

/* Writes @size bytes at @offset of one of the device's files. */
static bool write_file(const char *device, const char *name, off_t offset, const void *data,
		       size_t size)
{
	char path[320];
	ssize_t written;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	written = pwrite(fd, data, size, offset);
	close(fd);
	return written == (ssize_t)size;
}

/* The device's registers; NULL where they cannot be reached. */
static volatile uint8_t *map_registers(const char *device)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[320], text[128];
	uint8_t *mapped;
	uint64_t start;
	int fd;

	snprintf(path, sizeof(path), "%s/resource", device);
	if (!file_text(AT_FDCWD, path, text, sizeof(text)))
		return NULL;
	start = strtoull(text, NULL, 16);
	snprintf(path, sizeof(path), "%s/resource0", device);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mapped == MAP_FAILED ? NULL : mapped + start % page;
}

/* PCI is little-endian. */
static uint32_t little(uint32_t value)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap32(value);
}

static uint16_t little_short(uint16_t value)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap16(value);
}

static void set_preload(volatile uint8_t *registers, unsigned int offset)
{
	*(volatile uint32_t *)(registers + RELOAD) = little(UNLOCK_1);
	*(volatile uint32_t *)(registers + RELOAD) = little(UNLOCK_2);
	*(volatile uint32_t *)(registers + offset) = little(STAGE_TICKS);
}

static bool has_bitten(const volatile uint8_t *registers)
{
	return little_short(*(const volatile uint16_t *)(registers + RELOAD)) & RELOAD_HAS_BITTEN;
}

bool snapshot_stop(void)
{
	static const uint8_t config[] = { CONFIG_1MHZ | CONFIG_NO_IRQ, 0 };
	static const uint8_t lock[] = { LOCK_ENABLE };
	volatile uint8_t *registers = NULL;
	char device[300];

	if (find_device(device, sizeof(device)) && write_file(device, "enable", 0, "1", 1) &&
	    write_file(device, "config", CONFIG_REG, config, sizeof(config)))
		registers = map_registers(device);
	if (!registers) {
		fputs("rtscope-agent: there is no watchdog to stop the machine with\n", stderr);
		return false;
	}
	set_preload(registers, PRELOAD_1);
	set_preload(registers, PRELOAD_2);
	write_file(device, "config", LOCK_REG, lock, sizeof(lock));
	clock_sleep_until(clock_now_ns() + SLEEP_NS);
	if (has_bitten(registers))
		return true;
	fputs("rtscope-agent: the watchdog did not stop the machine\n", stderr);
	return false;
}
