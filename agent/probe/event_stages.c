// SPDX-License-Identifier: GPL-2.0-only
/* An event that was taken before the interrupt's thread ran has no times of that. */
#include "probe/event_stages.h"

static const struct {
	const char *mean, *max;
} keys[STAGES] = {
	[STAGE_DUE_TO_INTERRUPT] = { NULL, "due_to_interrupt_max_ns" },
	[STAGE_INTERRUPT_TO_THREAD] = { "interrupt_to_thread_mean_ns",
					"interrupt_to_thread_max_ns" },
	[STAGE_THREAD_TO_WAKE] = { "thread_to_wake_mean_ns", "thread_to_wake_max_ns" },
	[STAGE_WAKE_TO_USER] = { "wake_to_user_mean_ns", "wake_to_user_max_ns" },
};

static void add(struct stages *stages, unsigned int stage, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = clock_elapsed_ns(from_ns, to_ns);

	stages->count[stage]++;
	stages->sum_ns[stage] += ns;
	if (ns > stages->max_ns[stage])
		stages->max_ns[stage] = ns;
}

void stages_add(struct stages *stages, const struct rtevent_event *event, uint64_t taken_ns)
{
	add(stages, STAGE_DUE_TO_INTERRUPT, event->due_ns, event->interrupt_ns);
	if (!event->wake_ns)
		return;
	add(stages, STAGE_INTERRUPT_TO_THREAD, event->interrupt_ns, event->thread_ns);
	add(stages, STAGE_THREAD_TO_WAKE, event->thread_ns, event->wake_ns);
	add(stages, STAGE_WAKE_TO_USER, event->wake_ns, taken_ns);
}

void stages_report(const struct stages *stages, struct measuring *measuring)
{
	for (unsigned int i = 0; i < STAGES; i++) {
		double count = (double)stages->count[i];

		if (!stages->count[i])
			continue;
		if (keys[i].mean)
			measuring_metric(measuring, keys[i].mean,
					 (double)stages->sum_ns[i] / count);
		measuring_metric(measuring, keys[i].max, (double)stages->max_ns[i]);
	}
}
