// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop: how regular a periodic loop is, seen from outside.
 *
 * The 100 Hz loop of the kernel driver report ("Real-time Linux kernel drivers",
 * parts 1 to 3), written in the ways of period.h, or in the kernel in those of
 * the module rtloop. A loop counts its periods in shared memory as the driver's
 * bus showed them to an FPGA; an observer on another CPU does nothing but watch
 * the counts, and what it saw of them is in watch.h. The loops take turns on one
 * CPU, so that each meets the same disturbances.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/loop.h"
#include "probe/probe.h"
#include "session/session.h"

#define TURN_PERIODS 100
#define GAP_MIN_NS   (10 * NSEC_PER_USEC)
#define SLACK_NS     (100 * NSEC_PER_USEC) /* the driver report's */

struct loop loop = {
	.observer = OBSERVER_AUTO,
};

static unsigned int method; /* an index into all_methods */
static struct rtloop_page pulses[LOOPS_MAX];

static bool parse_observer(const char *text, void *value)
{
	int *observer = value;
	uint64_t cpu;

	if (!strcmp(text, "self")) {
		*observer = OBSERVER_SELF;
		return true;
	}
	if (!option_number(text, CPUS_MAX - 1, &cpu))
		return false;
	*observer = (int)cpu;
	return true;
}

static const char *const places[] = { "program", "kernel", NULL };
static const char *const rests[] = { "yes", "no", NULL };
static const char *const all_methods[] = { "relative", "compensated", "absolute", "timerfd",
					   "timer",    "deadline",    "all",	  NULL };
static bool slack_given;

static const struct option_spec options[] = {
	{ .name = "in",
	  .kind = OPTION_EITHER,
	  .choices = places,
	  .metavar = "WHERE",
	  .preset = "program",
	  .help = "Loop in a program or in the kernel, which needs module rtloop",
	  .value = &loop.in_kernel },
	{ .name = "method",
	  .kind = OPTION_CHOICE,
	  .choices = all_methods,
	  .metavar = "METHOD",
	  .preset = "all",
	  .help = "relative: sleep for the interval; compensated: less the time that the work took; "
		  "absolute: until the deadline; timerfd; all. With --in kernel, timer: the callback queues "
		  "work; relative: sleep for the interval less the time that the work took; absolute; "
		  "deadline: absolute, as a SCHED_DEADLINE thread; all",
	  .value = &method },
	{ .name = "work",
	  .kind = OPTION_TIME,
	  .preset = "1ms",
	  .help = "CPU time that each period computes",
	  .value = &loop.work_ns },
	{ .name = "slack",
	  .kind = OPTION_TIME,
	  .computed = "100us with --in kernel",
	  .help = "Timer slack of the kernel's loops",
	  .value = &loop.slack_ns,
	  .given = &slack_given },
	{ .name = "low",
	  .kind = OPTION_TIME,
	  .computed = "97 % of the interval",
	  .help = "Count shorter periods",
	  .value = &loop.limits.low_ns },
	{ .name = "high",
	  .kind = OPTION_TIME,
	  .computed = "103 % of the interval",
	  .help = "Count longer periods",
	  .value = &loop.limits.high_ns },
	{ .name = "observer",
	  .kind = OPTION_PARSED,
	  .metavar = "CPU",
	  .wanted = "a CPU's number or self",
	  .computed = "the last other CPU of --cpus, or else of the system",
	  .help = "CPU that only watches the loops; self: use the loop's own clock",
	  .parse = parse_observer,
	  .value = &loop.observer },
	{ .name = "observer-rest",
	  .kind = OPTION_EITHER,
	  .choices = rests,
	  .metavar = "REST",
	  .preset = "yes",
	  .silent = true,
	  .help = "Let others have the observer's CPU for half an interval after each edge, or never",
	  .value = &loop.restless },
	{ 0 },
};

static const struct option_preset presets[] = { { "interval", "10ms" }, { 0 } };

static const char *const *methods(void)
{
	return loop.in_kernel ? kernel_method_names : method_names;
}

static int choose_method(char *error, size_t error_size)
{
	const char *const *names = methods();

	loop.loops = 1;
	for (loop.method = 0; loop.method < LOOPS_MAX; loop.method++) {
		if (!strcmp(all_methods[method], names[loop.method]))
			return 0;
	}
	loop.method = 0;
	loop.loops = LOOPS_MAX;
	if (!strcmp(all_methods[method], "all"))
		return 0;
	return options_refuse(error, error_size, "method in",
			      "--method '%s' is not %s, %s, %s, %s or all; --in %s has those",
			      all_methods[method], names[0], names[1], names[2], names[3],
			      loop.in_kernel ? "kernel" : "program");
}

static int check_slack(char *error, size_t error_size)
{
	if (!loop.in_kernel && slack_given) {
		return options_refuse(error, error_size, "slack in",
				      "--slack is for --in kernel: a program's loops have none");
	}
	if (!slack_given)
		loop.slack_ns = loop.in_kernel ? SLACK_NS : 0;
	return 0;
}

static int check_times(const struct session_options *session, char *error, size_t error_size)
{
	uint64_t interval_ns = session->interval_ns;
	struct limits *limits = &loop.limits;

	limits->interval_ns = interval_ns;
	limits->gap_ns = interval_ns / 100 > GAP_MIN_NS ? interval_ns / 100 : GAP_MIN_NS;
	if (!limits->low_ns)
		limits->low_ns = interval_ns / 100 * 97;
	if (!limits->high_ns)
		limits->high_ns = interval_ns / 100 * 103;
	if (limits->low_ns > limits->high_ns) {
		return options_refuse(error, error_size, "low high",
				      "--low %llu ns is above --high %llu ns: no period could be in range",
				      (unsigned long long)limits->low_ns,
				      (unsigned long long)limits->high_ns);
	}
	if (loop.work_ns >= interval_ns) {
		return options_refuse(error, error_size, "work interval",
				      "--work %llu ns leaves nothing of an --interval of %llu ns to sleep",
				      (unsigned long long)loop.work_ns,
				      (unsigned long long)interval_ns);
	}
	return 0;
}

/* Equal turns, of about TURN_PERIODS each, that fill the duration. */
static int share_duration(const struct session_options *session, char *error, size_t error_size)
{
	uint64_t rounds, turn_ns = TURN_PERIODS * session->interval_ns;

	loop.turn_ns = loop.loops == 1 ? UINT64_MAX : turn_ns;
	if (loop.loops == 1 || !session->duration_ns)
		return 0;
	rounds = session->duration_ns / (loop.loops * turn_ns);
	loop.turn_ns = session->duration_ns / (loop.loops * (rounds ? rounds : 1));
	if (loop.turn_ns >= 2 * session->interval_ns)
		return 0;
	return options_refuse(error, error_size, "duration method",
			      "--duration is too short for %u methods to have a period of %llu ns each: measure longer or choose one --method",
			      loop.loops, (unsigned long long)session->interval_ns);
}

static bool has_cpu(const struct cpus *cpus, int cpu)
{
	for (unsigned int i = 0; i < cpus->count; i++) {
		if (cpus->number[i] == cpu)
			return true;
	}
	return false;
}

/* The last CPU of @cpus that is not @taken; -1 where there is none. */
static int last_cpu(const struct cpus *cpus, int taken)
{
	for (unsigned int i = cpus->count; i-- > 0;) {
		if (cpus->number[i] != taken)
			return cpus->number[i];
	}
	return -1;
}

static int choose_observer(const struct cpus *cpus, char *error, size_t error_size)
{
	int taken = cpus->number[0];
	struct cpus usable;

	cpus_usable(&usable);
	if (loop.observer >= 0 && (loop.observer == taken || !has_cpu(&usable, loop.observer))) {
		return options_refuse(error, error_size, "observer cpus",
				      loop.observer == taken ?
					      "--observer %d is the CPU of the loop itself: name another one, or choose the loop's by --cpus" :
					      "--observer %d is not a CPU that this process may use",
				      loop.observer);
	}
	if (loop.observer == OBSERVER_AUTO)
		loop.observer = last_cpu(cpus, taken);
	if (loop.observer == -1)
		loop.observer = last_cpu(&usable, taken);
	if (loop.observer == -1) {
		loop.observer = OBSERVER_SELF;
		session_warn("loop-no-observer",
			     "no other CPU could watch the loop from outside: each period is from the loop's own clock, which says nothing of what happens between its reading and the work");
	}
	return 0;
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int count = 0;

	if (session->policy == POLICY_DEADLINE) {
		return options_refuse(error, error_size, "policy in method",
				      "--policy deadline does not fit: these loops time themselves, and are pinned; use fifo or other, or --in kernel --method deadline");
	}
	if (choose_method(error, error_size) || check_slack(error, error_size) ||
	    check_times(session, error, error_size) || share_duration(session, error, error_size) ||
	    choose_observer(cpus, error, error_size))
		return -1;
	for (; count < loop.loops; count++) {
		loop.watch[count].pulse = &pulses[count];
		roles[count] = (struct role){
			.name = (loop.in_kernel ? kernel_loop_names :
						  method_names)[loop.method + count],
			.body = loop.in_kernel ? loop_in_kernel : loop_in_program,
			.cpu = cpus->number[0],
			.priority = session->priority,
			.interval_ns = session->interval_ns,
		};
	}
	if (loop.in_kernel && loop_reach_kernel(session, cpus->number[0], error, error_size))
		return -1;
	if (loop.observer >= 0)
		roles[count++] = (struct role){
			.name = "observer",
			.body = loop_observe,
			.cpu = loop.observer,
			.priority = 1,
			.silent = true,
			.spins = true,
		};
	return (int)count;
}

static void describe(struct json *json)
{
	char observer[16] = "self";

	if (loop.observer >= 0)
		snprintf(observer, sizeof(observer), "CPU %d", loop.observer);
	json_string(json, "observer", observer);
	json_bool(json, "observer_rests", loop.observer >= 0 && !loop.restless);
}

static const char *const metrics[] = { "in_range",
				       "over",
				       "under",
				       "in_range_20pct",
				       "over_20pct",
				       "under_20pct",
				       "expected",
				       "drift_ns_per_s",
				       "longest_ns",
				       "shortest_ns",
				       "uncertain",
				       "unseen",
				       "observer_gaps",
				       "observer_gap_median_ns",
				       "observer_gap_max_ns",
				       NULL };

const struct probe loop_probe = {
	.name = "loop",
	.summary = "how regular a periodic loop is, observed from another CPU",
	.help = "Period jitter of a periodic loop, observed from another CPU: the length of each period, for each\n"
		"method to write such a loop. The loops run on the first CPU of --cpus, in turns of 100 periods.\n",
	.examples =
		"  rtscope-agent loop -D 30s --load mixed         as the driver report's tables\n"
		"  rtscope-agent loop --in kernel -D 30s          the same loops in the kernel\n"
		"  rtscope-agent loop -a 2 --observer 3 --method absolute -i 1ms --work 200us -D 1m\n",
	.module = "rtloop",
	.module_if = "in=kernel",
	.options = options,
	.presets = presets,
	.describe = describe,
	.metrics = metrics,
	.plan = plan,
};
