// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long CPUs may take to leave idle states.
 *
 * The kernel keeps what a process has asked for while that has
 * /dev/cpu_dma_latency open, and goes by the least of all that is asked. So what
 * is read while another asks for less is what we have asked for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "system/tune_capability.h"
#include "system/tune_latency.h"

#define DEVICE "/dev/cpu_dma_latency"

static int held = -1;
static int32_t held_us;

static int read_limit(const char *key, char *value, size_t size)
{
	int fd = open(key, O_RDONLY | O_CLOEXEC);
	int32_t limit_us;
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	got = read(fd, &limit_us, sizeof(limit_us));
	close(fd);
	if (got != sizeof(limit_us))
		return got < 0 ? errno : EIO;
	snprintf(value, size, "%d us", held >= 0 && limit_us < held_us ? held_us : limit_us);
	return 0;
}

static int write_limit(const char *key, const char *value)
{
	int32_t limit_us = (int32_t)strtol(value, NULL, 10);

	if (held < 0)
		held = open(key, O_WRONLY | O_CLOEXEC);
	if (held < 0)
		return errno == ENOENT ? ESRCH : errno;
	if (write(held, &limit_us, sizeof(limit_us)) != sizeof(limit_us))
		return errno;
	held_us = limit_us;
	return 0;
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	snprintf(what, size, "way out of idle states");
	snprintf(where, size, "%s", key);
}

static const char *lacking(const char *key, const char *value)
{
	(void)value;
	return capability_to_write(key);
}

const struct tune_kind tune_latency = {
	.name = "latency",
	.read = read_limit,
	.write = write_limit,
	.describe = describe,
	.lacking = lacking,
};

void tune_latency_resolve(const struct tune_rules *rules, struct tune_plan *plan)
{
	uint64_t limit_ns = UINT64_MAX;
	char old_value[32], new_value[32];
	struct tune_change *change;

	for (unsigned int i = 0; i < rules->count; i++) {
		if (rules->rule[i].kind == RULE_LATENCY && rules->rule[i].limit_ns < limit_ns)
			limit_ns = rules->rule[i].limit_ns;
	}
	if (held >= 0 || limit_ns == UINT64_MAX || read_limit(DEVICE, old_value, sizeof(old_value)))
		return;
	snprintf(new_value, sizeof(new_value), "%llu us",
		 (unsigned long long)(limit_ns / NSEC_PER_USEC));
	change = tune_plan_want(plan, &tune_latency, DEVICE, old_value, new_value);
	if (change)
		change->state = TUNE_PLANNED; /* who asks for as little may end */
}
