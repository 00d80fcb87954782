// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maximum exit latency of idle states, as rules want it. The kernel puts the least of all
 * limits into effect: while another program sets a lower one, the value read is our own.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "proc/cpu_latency.h"
#include "tune/capability.h"
#include "tune/latency.h"

static int held = -1;
static int32_t held_us;

static int read_limit(const char *key, char *value, size_t size)
{
	int32_t limit_us;
	int error = cpu_latency_read(&limit_us);

	(void)key;
	if (error)
		return error == ENOENT ? ESRCH : error;
	snprintf(value, size, "%d us", held >= 0 && limit_us < held_us ? held_us : limit_us);
	return 0;
}

static int write_limit(const char *key, const char *value)
{
	int32_t limit_us = (int32_t)strtol(value, NULL, 10);
	int error = cpu_latency_set(&held, limit_us);

	(void)key;
	if (error)
		return error == ENOENT ? ESRCH : error;
	held_us = limit_us;
	return 0;
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	snprintf(what, size, "maximum exit latency of idle states");
	snprintf(where, size, "%s", key);
}

static const char *lacking(const char *key, const char *value)
{
	(void)value;
	return capability_to_write(key);
}

/* Our limit is held nevertheless and takes effect when the stricter one ends. */
static enum tune_effect effect(const char *key, const char *value, char *why, size_t size)
{
	int32_t limit_us;

	(void)key;
	(void)value;
	if (held < 0 || cpu_latency_read(&limit_us) || limit_us >= held_us)
		return EFFECT_FULL;
	snprintf(why, size, "another program limits it to %d us, and the least limit is in effect",
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

	if (held >= 0 || limit_ns == UINT64_MAX ||
	    read_limit(CPU_LATENCY_DEVICE, old_value, sizeof(old_value)))
		return;
	snprintf(new_value, sizeof(new_value), "%llu us",
		 (unsigned long long)(limit_ns / NSEC_PER_USEC));
	change = tune_plan_want(plan, &tune_latency, CPU_LATENCY_DEVICE, old_value, new_value);
	if (change)
		change->state = TUNE_PLANNED; /* the program that requests as little may end */
}
