// SPDX-License-Identifier: GPL-2.0-only
/*
 * noise: how much CPU time a spinning thread loses.
 *
 * One thread a CPU reads the clock over and over. Two readings that are a
 * threshold or more apart are a gap, in which something else had the CPU: an
 * interrupt, another thread, firmware, a hypervisor. The latency recorded is
 * the gap's length. oslat and rtla's osnoise work the same way.
 *
 * The threads are ordinary ones unless asked: a spinning real-time thread leaves
 * nothing for anybody else. As a real-time thread it spins for 900 ms of every
 * second, which is less than what the kernel's real-time throttling and fair server
 * allow; otherwise the time they take would be the longest gap found.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

#define THRESHOLD_NS NSEC_PER_USEC
#define PERIOD_NS    NSEC_PER_SEC
#define COSTS_TRIED  1001

static struct {
	uint64_t threshold_ns; /* 0: not given */
	uint64_t runtime_ns;   /* 0: not given */
	uint64_t period_ns;
} noise;

static const struct option_spec options[] = {
	{ .name = "threshold",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .max = 3600 * NSEC_PER_SEC,
	  .computed = "1us, or 4 clock reads where they are slow",
	  .help = "Shortest gap that counts",
	  .value = &noise.threshold_ns },
	{ .name = "runtime",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .max = 3600 * NSEC_PER_SEC,
	  .computed = "the period; 0.9 of it with --policy fifo",
	  .help = "Spin for TIME in each period",
	  .value = &noise.runtime_ns },
	{ .name = "period",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .max = 3600 * NSEC_PER_SEC,
	  .preset = "1s",
	  .help = "Period of spinning and resting",
	  .value = &noise.period_ns },
	{ 0 },
};

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "policy", "other" },
	{ "interval", NULL },
	{ 0 },
};

/* What reading the clock takes: the least of many, because most else is noise. */
static uint64_t clock_cost_ns(void)
{
	uint64_t least_ns = UINT64_MAX, last_ns = clock_now_ns();

	for (unsigned int i = 0; i < COSTS_TRIED; i++) {
		uint64_t now_ns = clock_now_ns();

		if (now_ns > last_ns && now_ns - last_ns < least_ns)
			least_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	return least_ns;
}

static int choose_threshold(char *error, size_t error_size)
{
	uint64_t cost_ns = clock_cost_ns();

	if (!noise.threshold_ns)
		noise.threshold_ns = 4 * cost_ns > THRESHOLD_NS ? 4 * cost_ns : THRESHOLD_NS;
	if (noise.threshold_ns >= 2 * cost_ns)
		return 0;
	return options_refuse(error, error_size, "threshold",
			      "--threshold %llu ns is too short: reading the clock takes %llu ns here, so that every reading would be a gap; give at least %llu ns",
			      (unsigned long long)noise.threshold_ns, (unsigned long long)cost_ns,
			      (unsigned long long)(2 * cost_ns));
}

static int choose_runtime(enum policy policy, char *error, size_t error_size)
{
	if (!noise.runtime_ns)
		noise.runtime_ns =
			policy == POLICY_OTHER ? noise.period_ns : noise.period_ns / 10 * 9;
	if (noise.runtime_ns && noise.runtime_ns <= noise.period_ns)
		return 0;
	return options_refuse(error, error_size, "runtime period",
			      "--runtime %llu us does not fit into a --period of %llu us",
			      (unsigned long long)(noise.runtime_ns / NSEC_PER_USEC),
			      (unsigned long long)(noise.period_ns / NSEC_PER_USEC));
}

static void measure(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	if (session->policy == POLICY_DEADLINE)
		return options_refuse(error, error_size, "policy",
				      "noise spins, which SCHED_DEADLINE does not grant: measure with --policy fifo or other");
	if (choose_threshold(error, error_size) ||
	    choose_runtime(session->policy, error, error_size))
		return -1;
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = (struct role){
			.name = "",
			.body = measure,
			.cpu = cpus->number[i],
			.priority = session->priority,
			.spins = true,
		};
	return (int)cpus->count;
}

struct spinning {
	uint64_t spins;
	uint64_t observed_ns; /* from the first reading of each runtime to its last, without pauses */
};

/* Spin for one runtime or to the end; returns when it stopped. */
static uint64_t spin(struct measuring *measuring, struct spinning *spinning)
{
	struct record *record = &measuring->record;
	uint64_t first_ns = clock_now_ns(), now_ns = first_ns, last_ns, spins = 0;
	uint64_t until_ns = first_ns + noise.runtime_ns, paused_ns = 0;

	while (now_ns < until_ns && !record->threshold_reached &&
	       measuring_goes_on(measuring, now_ns)) {
		last_ns = now_ns;
		now_ns = clock_now_ns();
		spins++;
		if (__builtin_expect(now_ns - last_ns >= noise.threshold_ns, 0))
			paused_ns += record_add(record, last_ns, now_ns) ? 0 : now_ns - last_ns;
	}
	spinning->spins += spins;
	spinning->observed_ns += now_ns - first_ns - paused_ns;
	return now_ns;
}

static void spin_in_periods(struct measuring *measuring, struct spinning *spinning)
{
	uint64_t period_start_ns = measuring->start_ns, now_ns;

	while (!clock_sleep_until(period_start_ns)) {
		now_ns = spin(measuring, spinning);
		if (measuring->record.threshold_reached || !measuring_goes_on(measuring, now_ns))
			return;
		period_start_ns += noise.period_ns;
		if (period_start_ns >= measuring->end_ns) {
			measuring->completed = true;
			return;
		}
	}
}

static void measure(struct measuring *measuring)
{
	const struct record *record = &measuring->record;
	struct spinning spinning = { 0 };
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	spin_in_periods(measuring, &spinning);
	getrusage(RUSAGE_THREAD, &after);

	if (!spinning.observed_ns)
		return;
	measuring_metric(measuring, "noise_percent",
			 100.0 * (double)record->sum_ns / (double)spinning.observed_ns);
	measuring_metric(measuring, "gaps", (double)record->count);
	measuring_metric(measuring, "longest_gap_ns", (double)record->max_ns);
	measuring_metric(measuring, "stolen_ns", (double)record->sum_ns);
	measuring_metric(measuring, "observed_ns", (double)spinning.observed_ns);
	measuring_metric(measuring, "spins", (double)spinning.spins);
	measuring_metric(measuring, "spin_ns",
			 (double)(spinning.observed_ns - record->sum_ns) / (double)spinning.spins);
	measuring_metric(measuring, "preempted", (double)(after.ru_nivcsw - before.ru_nivcsw));
	measuring_metric(measuring, "slept", (double)(after.ru_nvcsw - before.ru_nvcsw));
}

static const char *const metrics[] = { "noise_percent", "gaps",	 "longest_gap_ns", "stolen_ns",
				       "observed_ns",	"spins", "spin_ns",	   "preempted",
				       "slept",		NULL };

const struct probe noise_probe = {
	.name = "noise",
	.summary = "how much CPU time a spinning thread loses, and in how long gaps",
	.help = "What interrupts a spinning thread: each gap between two clock reads that is at least as long\n"
		"as the threshold, from the read before it to the read after it.\n"
		"\n"
		"With --policy fifo, nothing of lower priority runs on these CPUs while the thread spins; with\n"
		"--runtime as long as --period, never.\n",
	.examples =
		"  rtscope-agent noise -D 1m                       as rtla osnoise, for each CPU\n"
		"  rtscope-agent noise -a 2,3 --policy fifo -p 1 -D 10m   as oslat on isolated CPUs\n",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
};
