// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "base/clock.h"
#include "no_session.h"

void session_warn(const char *code, const char *text)
{
	(void)code;
	(void)text;
}

void measuring_metric(struct measuring *measuring, const char *key, double value)
{
	if (measuring->metric_count == PROBE_METRICS_MAX)
		return;
	measuring->metric[measuring->metric_count].key = key;
	measuring->metric[measuring->metric_count++].value = value;
}

double metric(const struct measuring *measuring, const char *key)
{
	for (unsigned int i = 0; i < measuring->metric_count; i++) {
		if (!strcmp(measuring->metric[i].key, key))
			return measuring->metric[i].value;
	}
	return -1;
}

static void *renew(void *argument)
{
	struct control *control = argument;

	clock_sleep_until(clock_now_ns() + LEASE_LATE_NS);
	record_set(control->until_ns, UINT64_MAX);
	return NULL;
}

struct measuring leased(uint64_t samples)
{
	static struct control control = { .until_ns = UINT64_MAX };
	static const struct session_options session;
	struct measuring measuring = {
		.options = &session,
		.control = &control,
		.role.interval_ns = NSEC_PER_MSEC,
		.start_ns = clock_now_ns(),
		.end_ns = UINT64_MAX,
		.samples = samples,
	};

	record_init(&measuring.record, 0, UINT64_MAX, false);
	return measuring;
}

pthread_t lease_late(struct measuring *measuring)
{
	pthread_t thread;

	measuring->control->until_ns = 1;
	pthread_create(&thread, NULL, renew, measuring->control);
	return thread;
}

int move_to_last_cpu(cpu_set_t *before)
{
	int last = CPU_SETSIZE - 1;
	cpu_set_t one;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(*before), before);
	while (!CPU_ISSET(last, before))
		last--;
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return last;
}
