// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long CPUs may take to leave idle states.
 *
 * The kernel keeps what a process has asked for while that has
 * /dev/cpu_dma_latency open, and goes by the least of all that is asked. So what
 * is read while another asks for less is what we have asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tune/capability.h"
#include "tune/latency.h"

#define DEVICE "/dev/cpu_dma_latency"

static int held = -1;
static int32_t held_us;

static int read_effective(const char *key, int32_t *limit_us)
{
	int fd = open(key, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	got = read(fd, limit_us, sizeof(*limit_us));
	close(fd);
	if (got != sizeof(*limit_us))
		return got < 0 ? errno : EIO;
	return 0;
}

static int read_limit(const char *key, char *value, size_t size)
{
	int32_t limit_us;
	int error = read_effective(key, &limit_us);

	if (error)
		return error;
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

/* The limit is held all the same, and counts as soon as the stricter one is gone. */
static enum tune_effect effect(const char *key, const char *value, char *why, size_t size)
{
	int32_t limit_us;

	(void)value;
	if (held < 0 || read_effective(key, &limit_us) || limit_us >= held_us)
		return EFFECT_FULL;
	snprintf(why, size, "another program limits it to %d us, and the least limit counts",
		 limit_us);
	return EFFECT_TO_COME;
}

const struct tune_kind tune_latency = {
	.name = "latency",
	.read = read_limit,
	.write = write_limit,
	.describe = describe,
	.lacking = lacking,
	.effect = effect,
};

uint64_t tune_latency_limit_ns(const struct tune_rules *rules)
{
	uint64_t limit_ns = UINT64_MAX;

	for (unsigned int i = 0; i < rules->count; i++) {
		if (rules->rule[i].kind == RULE_LATENCY && rules->rule[i].limit_ns < limit_ns)
			limit_ns = rules->rule[i].limit_ns;
	}
	return limit_ns;
}

void tune_latency_resolve(const struct tune_rules *rules, struct tune_plan *plan)
{
	uint64_t limit_ns = tune_latency_limit_ns(rules);
	char old_value[32], new_value[32];
	struct tune_change *change;

	if (held >= 0 || limit_ns == UINT64_MAX || read_limit(DEVICE, old_value, sizeof(old_value)))
		return;
	snprintf(new_value, sizeof(new_value), "%llu us",
		 (unsigned long long)(limit_ns / NSEC_PER_USEC));
	change = tune_plan_want(plan, &tune_latency, DEVICE, old_value, new_value);
	if (change)
		change->state = TUNE_PLANNED; /* who asks for as little may end */
}
