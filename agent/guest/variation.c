// SPDX-License-Identifier: GPL-2.0-only
/*
 * What makes two runs of one emulated machine differ, and each of them repeatable: a seed.
 *
 * A machine that counts instructions does the same each time, so one metric of
 * it says nothing of its neighbours. The seed moves what a real machine leaves
 * to chance: the kernel's random numbers, and with them where a program that is
 * started from now on has its stack and its memory, and when measuring begins
 * against the kernel's own timers.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "guest/variation.h"

#define LAYOUT	    "/proc/sys/kernel/randomize_va_space"
#define SEED_BYTES  32
#define SETTLING_NS (20 * NSEC_PER_MSEC)
#define PHASES_NS   NSEC_PER_SEC
#define WEYL	    2654435769U

/* What the kernel's linux/random.h gives, which a C library does not have. */
struct entropy {
	int bits, size;
	uint64_t seed[SEED_BYTES / sizeof(uint64_t)];
};
#define RNDADDENTROPY _IOW('R', 0x03, int[2])
#define RNDRESEEDCRNG _IO('R', 0x07)

static void seed_random_numbers(uint64_t seed)
{
	struct entropy entropy = { 8 * SEED_BYTES, SEED_BYTES, { seed } };
	int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &entropy) || ioctl(fd, RNDRESEEDCRNG))
		perror("rtscope-agent: cannot seed the kernel's random numbers");
	if (fd >= 0)
		close(fd);
}

static void vary_layout(void)
{
	if (!file_put(AT_FDCWD, LAYOUT, "2"))
		perror("rtscope-agent: cannot write " LAYOUT);
}

/* Weyl's sequence spreads neighbouring seeds over the phases. */
static uint64_t phase_ns(uint64_t seed)
{
	return ((uint64_t)((uint32_t)seed * WEYL) * PHASES_NS) >> 32;
}

void variation_apply(const char *text)
{
	uint64_t seed = strtoull(text, NULL, 10);

	seed_random_numbers(seed);
	vary_layout();
	clock_sleep_until(clock_now_ns() + SETTLING_NS + phase_ns(seed));
}
