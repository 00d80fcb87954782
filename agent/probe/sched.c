// SPDX-License-Identifier: GPL-2.0-only
/*
 * sched: how late a periodic thread starts its work.
 *
 * The IBM real-time tests' sched_latency, which LTP keeps: a thread of priority
 * 89 works for 1 ms of every 5 ms; the delay of iteration i is
 * now - start - i * period, where start is the clock when the thread first ran.
 * So the phase is fixed, and how late the thread first ran is a metric of its
 * own. A period that has passed when the work is done is counted as missed and
 * not waited for; the original ends there.
 *
 * The verdict is the original's: no iteration later than the criterion, and no
 * period missed. How late the thread first ran is judged as well, and is no
 * iteration.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

#define OVERHEAD_NS (50 * NSEC_PER_USEC) /* of a period, that cannot be work */

static struct {
	uint64_t busy_ns;
	uint64_t criterion_ns;
} sched;

static const struct option_spec options[] = {
	{ .name = "busy",
	  .kind = OPTION_TIME,
	  .preset = "1ms",
	  .help = "CPU time that each period computes, at most 50us less than the interval",
	  .value = &sched.busy_ns },
	{ .name = "criterion",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "100us",
	  .help = "PASS if no iteration is later than TIME",
	  .value = &sched.criterion_ns },
	{ 0 },
};

static const struct option_preset presets[] = {
	{ "priority", "89" },
	{ "interval", "5ms" },
	{ 0 },
};

static void measure(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	/* What SCHED_DEADLINE grants of an interval is a tenth. */
	uint64_t most_ns = session->policy == POLICY_DEADLINE ? session->interval_ns / 10 :
								session->interval_ns - OVERHEAD_NS;

	if (sched.busy_ns && (session->interval_ns < OVERHEAD_NS || sched.busy_ns > most_ns)) {
		return options_refuse(error, error_size, "busy interval",
				      "--busy %llu us does not fit into an --interval of %llu us%s: work at most %llu us, or 0 for none",
				      (unsigned long long)(sched.busy_ns / NSEC_PER_USEC),
				      (unsigned long long)(session->interval_ns / NSEC_PER_USEC),
				      session->policy == POLICY_DEADLINE ? " under SCHED_DEADLINE" :
									   "",
				      (unsigned long long)(session->interval_ns < OVERHEAD_NS ?
								   0 :
								   most_ns / NSEC_PER_USEC));
	}
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = (struct role){
			.name = "",
			.body = measure,
			.cpu = cpus->number[i],
			.priority = session->priority,
			.interval_ns = session->interval_ns,
		};
	return (int)cpus->count;
}

/* How many periods from @due_ns on have begun before @now_ns. */
static uint64_t periods_passed(uint64_t due_ns, uint64_t now_ns, uint64_t period_ns)
{
	return now_ns > due_ns ? (now_ns - due_ns - 1) / period_ns + 1 : 0;
}

static bool passes(uint64_t latency_ns)
{
	return latency_ns < sched.criterion_ns;
}

static void measure(struct measuring *measuring)
{
	uint64_t period_ns = measuring->role.interval_ns, failed = 0, start_ns, due_ns, now_ns;
	struct record *record = &measuring->record;

	if (clock_sleep_until(measuring->start_ns))
		return;
	start_ns = clock_now_ns();
	due_ns = start_ns + period_ns;
	while (measuring_goes_on(measuring, due_ns)) {
		if (clock_sleep_until(due_ns))
			break;
		now_ns = clock_now_ns();
		if (record_add(record, due_ns, now_ns))
			failed += record->last_ns > sched.criterion_ns;
		else
			record_set(record->missed, record->missed + 1);
		if (record->threshold_reached)
			break;
		if (sched.busy_ns)
			clock_work(sched.busy_ns);
		now_ns = clock_now_ns();
		if (now_ns > measuring->end_ns)
			now_ns = measuring->end_ns;
		due_ns += period_ns;
		if (due_ns < now_ns) {
			uint64_t missed = periods_passed(due_ns, now_ns, period_ns);

			record_set(record->missed, record->missed + missed);
			due_ns += missed * period_ns;
		}
	}
	measuring_metric(measuring, "start_ns", (double)(start_ns - measuring->start_ns));
	measuring_metric(measuring, "failed", (double)failed);
	measuring_metric(measuring, "criterion_ns", (double)sched.criterion_ns);
	if (record->count)
		measuring_metric(measuring, "pass", !failed && !record->missed);
}

static void print_judged(FILE *out, const char *name, double latency_ns)
{
	fprintf(out, "%s Latency: %.0f us: %s\n", name, latency_ns / NSEC_PER_USEC,
		passes((uint64_t)latency_ns) ? "PASS" : "FAIL");
}

/* As the original ends, and the published reports quote it. */
static void print(FILE *out, const struct measuring *measuring, unsigned int count)
{
	for (; count; count--, measuring++) {
		const struct record *record = &measuring->record;

		if (!measuring->metric_count || !record->count)
			continue;
		fprintf(out, "\nCPU %d:\n", measuring->role.cpu);
		print_judged(out, "Start", measuring->metric[0].value);
		print_judged(out, "Min", (double)record->min_ns);
		print_judged(out, "Avg", record_mean_ns(record));
		print_judged(out, "Max", (double)record->max_ns);
		fprintf(out, "Standard Deviation: %f\nFailed Iterations: %.0f\n",
			record_stddev_ns(record) / NSEC_PER_USEC, measuring->metric[1].value);
		fprintf(out,
			"Criteria: no iteration later than %llu us, no period missed (Start is no iteration)\nResult: %s\n",
			(unsigned long long)(sched.criterion_ns / NSEC_PER_USEC),
			measuring->metric[3].value ? "PASS" : "FAIL");
	}
}

static const char *const metrics[] = { "start_ns", "failed", "criterion_ns", "pass", NULL };

const struct probe sched_probe = {
	.name = "sched",
	.summary = "how late a periodic thread starts its work",
	.help = "Scheduling latency of a periodic thread: from start + i * period until the thread reads the clock\n"
		"when it runs again (the IBM tests' and LTP's sched_latency).\n",
	.examples = "  rtscope-agent sched                             as sched_latency -d 1 -t 5\n"
		    "  rtscope-agent sched -a 1 -i 1ms --busy 0 -D 1m --criterion 50us\n",
	.options = options,
	.presets = presets,
	.samples = 10000,
	.metrics = metrics,
	.plan = plan,
	.print = print,
};
