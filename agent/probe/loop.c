// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop: how regular a periodic loop is, seen from outside.
 *
 * The 100 Hz loop of the kernel driver report ("Real-time Linux kernel drivers",
 * parts 1 to 3), written in the ways of period.h. A loop counts its periods in
 * shared memory as the driver's bus showed them to an FPGA; an observer on
 * another CPU does nothing but watch the counts, and what it saw of them is in
 * watch.h. The loops take turns on one CPU, so that each meets the same
 * disturbances.
 *
 * The observer is SCHED_FIFO too, or load would keep it from its CPU, but of the
 * lowest priority, and it leaves the CPU to others: it sleeps for half an interval
 * after each edge, and shortly where none comes. An edge that comes meanwhile is
 * known from the loop's own clock alone, and told as uncertain. On a CPU that
 * nothing else needs it may be asked never to rest.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/options.h"
#include "core/session.h"
#include "probe/period.h"
#include "probe/probe.h"
#include "probe/watch.h"

#define TURN_PERIODS  100
#define OBSERVER_AUTO -1
#define OBSERVER_SELF -2
#define GAP_MIN_NS    (10 * NSEC_PER_USEC)
#define SPIN_MAX_NS   (10 * NSEC_PER_MSEC) /* without an edge, then others may run */
#define REST_NS	      NSEC_PER_MSEC

enum {
	OPTION_METHOD = 1,
	OPTION_WORK,
	OPTION_LOW,
	OPTION_HIGH,
	OPTION_OBSERVER,
	OPTION_OBSERVER_REST,
};

static struct {
	enum method method; /* METHODS: all */
	uint64_t work_ns;
	uint64_t turn_ns; /* of one loop, until the next one's */
	unsigned int loops;
	int observer; /* a CPU, OBSERVER_AUTO or OBSERVER_SELF */
	bool restless;
	struct limits limits;
	struct watch watch[METHODS];
} loop = {
	.method = METHODS,
	.work_ns = NSEC_PER_MSEC,
	.observer = OBSERVER_AUTO,
};

/* Apart from what has an initial value: its histogram stays out of the file. */
static struct gaps gaps;

static const struct option options[] = {
	{ "method", required_argument, NULL, OPTION_METHOD },
	{ "work", required_argument, NULL, OPTION_WORK },
	{ "low", required_argument, NULL, OPTION_LOW },
	{ "high", required_argument, NULL, OPTION_HIGH },
	{ "observer", required_argument, NULL, OPTION_OBSERVER },
	{ "observer-rest", required_argument, NULL, OPTION_OBSERVER_REST },
	{ 0 },
};

static void defaults(struct session_options *session)
{
	session->interval_ns = 10 * NSEC_PER_MSEC;
}

static int take_method(const char *text, char *error, size_t error_size)
{
	for (enum method method = RELATIVE; method < METHODS; method++) {
		if (!strcmp(text, method_names[method])) {
			loop.method = method;
			return 0;
		}
	}
	loop.method = METHODS;
	if (!strcmp(text, "all"))
		return 0;
	snprintf(error, error_size,
		 "--method '%s' is not relative, compensated, absolute, timerfd or all", text);
	return -1;
}

static int take_observer(const char *text, char *error, size_t error_size)
{
	uint64_t cpu;

	if (!strcmp(text, "self")) {
		loop.observer = OBSERVER_SELF;
		return 0;
	}
	if (option_number(text, CPUS_MAX - 1, &cpu)) {
		loop.observer = (int)cpu;
		return 0;
	}
	snprintf(error, error_size, "--observer '%s' is not a CPU's number or self", text);
	return -1;
}

static int take_rest(const char *text, char *error, size_t error_size)
{
	loop.restless = !strcmp(text, "no");
	if (loop.restless || !strcmp(text, "yes"))
		return 0;
	snprintf(error, error_size, "--observer-rest '%s' is not yes or no", text);
	return -1;
}

static int take_time(const char *option, const char *text, uint64_t *ns, char *error,
		     size_t error_size)
{
	if (option_time(text, NSEC_PER_USEC, ns))
		return 0;
	snprintf(error, error_size, "%s '%s' is not a time such as 9.7ms", option, text);
	return -1;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	switch (val) {
	case OPTION_METHOD:
		return take_method(text, error, error_size);
	case OPTION_WORK:
		return take_time("--work", text, &loop.work_ns, error, error_size);
	case OPTION_LOW:
		return take_time("--low", text, &loop.limits.low_ns, error, error_size);
	case OPTION_HIGH:
		return take_time("--high", text, &loop.limits.high_ns, error, error_size);
	case OPTION_OBSERVER_REST:
		return take_rest(text, error, error_size);
	}
	return take_observer(text, error, error_size);
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
		snprintf(error, error_size,
			 "--low %llu ns is above --high %llu ns: no period could be in range",
			 (unsigned long long)limits->low_ns, (unsigned long long)limits->high_ns);
		return -1;
	}
	if (loop.work_ns >= interval_ns) {
		snprintf(error, error_size,
			 "--work %llu ns leaves nothing of an --interval of %llu ns to sleep",
			 (unsigned long long)loop.work_ns, (unsigned long long)interval_ns);
		return -1;
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
	snprintf(error, error_size,
		 "--duration is too short for %u methods to have a period of %llu ns each: measure longer or choose one --method",
		 loop.loops, (unsigned long long)session->interval_ns);
	return -1;
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
		snprintf(error, error_size,
			 loop.observer == taken ?
				 "--observer %d is the CPU of the loop itself: name another one, or choose the loop's by --cpus" :
				 "--observer %d is not a CPU that this process may use",
			 loop.observer);
		return -1;
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

static void run_loop(struct measuring *measuring);
static void observe(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int count = 0;

	loop.loops = loop.method == METHODS ? METHODS : 1;
	if (session->policy == POLICY_DEADLINE) {
		snprintf(error, error_size,
			 "--policy deadline does not fit: these loops time themselves, and are pinned; use fifo or other");
		return -1;
	}
	if (check_times(session, error, error_size) || share_duration(session, error, error_size) ||
	    choose_observer(cpus, error, error_size))
		return -1;
	for (; count < loop.loops; count++)
		roles[count] = (struct role){
			.name = method_names[loop.loops == 1 ? loop.method : count],
			.body = run_loop,
			.cpu = cpus->number[0],
			.priority = session->priority,
			.interval_ns = session->interval_ns,
		};
	if (loop.observer >= 0)
		roles[count++] = (struct role){
			.name = "observer",
			.body = observe,
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
	json_string(json, "method", loop.loops == 1 ? method_names[loop.method] : "all");
	json_u64(json, "work_ns", loop.work_ns);
	json_u64(json, "low_ns", loop.limits.low_ns);
	json_u64(json, "high_ns", loop.limits.high_ns);
	json_string(json, "observer", observer);
	json_bool(json, "observer_rests", loop.observer >= 0 && !loop.restless);
}

static void show_period(struct watch *watch, uint64_t now_ns, bool begins)
{
	if (loop.observer == OBSERVER_SELF)
		watch_edge(watch, &loop.limits, now_ns, begins, true);
	else
		pulse_show(&watch->pulse, now_ns, begins);
}

/* Loop until the turn is over at @end_ns. False when measuring is. */
static bool take_turn(struct measuring *measuring, struct period *period, uint64_t end_ns)
{
	struct record *record = &measuring->record;
	bool begins = true;
	uint64_t next_ns;

	for (;;) {
		period->woke_ns = clock_now_ns();
		show_period(&loop.watch[measuring->index], period->woke_ns, begins);
		begins = false;
		record_set(record->missed, period->missed);
		if (record_get(record->threshold_reached))
			return false;
		clock_work(loop.work_ns);
		next_ns = period_next_ns(period);
		if (next_ns >= end_ns)
			return true;
		if (!measuring_goes_on(measuring, next_ns) || period_sleep(period))
			return false;
	}
}

/* Until the turn begins, in steps that a short lease covers. False when measuring is over. */
static bool await_turn(struct measuring *measuring, uint64_t start_ns)
{
	uint64_t step_ns = measuring->options->watchdog_ns / 2, now_ns;

	while (start_ns > (now_ns = clock_now_ns()) + step_ns) {
		if (!measuring_goes_on(measuring, now_ns + step_ns) ||
		    clock_sleep_until(now_ns + step_ns))
			return false;
	}
	return measuring_goes_on(measuring, start_ns) && !clock_sleep_until(start_ns);
}

static void run_loop(struct measuring *measuring)
{
	struct watch *watch = &loop.watch[measuring->index];
	uint64_t start_ns = measuring->start_ns, turn_ns = loop.turn_ns;
	struct period period;

	watch->measuring = measuring;
	if (loop.loops == 1)
		turn_ns = UINT64_MAX - start_ns;
	else
		start_ns += measuring->index * turn_ns;
	measuring->error = period_open(&period, loop.loops == 1 ? loop.method : measuring->index,
				       loop.limits.interval_ns);
	while (!measuring->error && await_turn(measuring, start_ns)) {
		measuring->error = period_begin(&period, start_ns);
		if (measuring->error || !take_turn(measuring, &period, start_ns + turn_ns))
			break;
		start_ns += loop.loops * turn_ns;
	}
	period_close(&period);
	if (loop.observer == OBSERVER_SELF)
		watch_report(watch, &loop.limits, NULL);
}

/* Look at every loop once. True when one had a new edge. */
static bool look(uint64_t before_ns, uint64_t last_ns, uint64_t *now_ns)
{
	uint64_t edges[METHODS];
	bool found = false;

	for (unsigned int i = 0; i < loop.loops; i++)
		edges[i] = pulse_edges(&loop.watch[i].pulse);
	*now_ns = clock_now_ns();
	gaps_add(&gaps, &loop.limits, *now_ns - last_ns);
	for (unsigned int i = 0; i < loop.loops; i++) {
		if (edges[i] == loop.watch[i].seen)
			continue;
		watch_look(&loop.watch[i], &loop.limits, edges[i], before_ns, *now_ns);
		found = true;
	}
	return found;
}

/* Leave the CPU until @until_ns; the observer is away for no longer than that on purpose. */
static uint64_t rest(uint64_t until_ns)
{
	int ended = clock_sleep_until(until_ns);
	uint64_t now_ns = clock_now_ns();

	if (!ended)
		gaps_add(&gaps, &loop.limits, now_ns - until_ns);
	return now_ns;
}

/*
 * Watch the loops until measuring has ended. An edge that is new to a look came
 * after the look before it had begun, so after the clock was read before that.
 */
static void observe(struct measuring *measuring)
{
	uint64_t now_ns, before_ns, last_ns, rested_ns;

	clock_sleep_until(measuring->start_ns); /* else who begins with it may not get a CPU */
	now_ns = before_ns = last_ns = rested_ns = clock_now_ns();
	while (record_get(measuring->control->until_ns)) {
		bool found = look(before_ns, last_ns, &now_ns);

		before_ns = last_ns;
		last_ns = now_ns;
		if (loop.restless)
			continue;
		if (found)
			last_ns = rested_ns = rest(now_ns + loop.limits.interval_ns / 2);
		else if (now_ns - rested_ns > SPIN_MAX_NS)
			last_ns = rested_ns = rest(now_ns + REST_NS);
	}
	look(before_ns, last_ns, &now_ns);
	for (unsigned int i = 0; i < loop.loops; i++)
		watch_report(&loop.watch[i], &loop.limits, &gaps);
}

static const char *const facts[] = { "in_range",
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

static const struct probe probe = {
	.name = "loop",
	.help = "How regular a periodic loop is, seen from another CPU: the length of each period, for\n"
		"the ways to write one. The loops run on the first CPU of --cpus, in turns of 100\n"
		"periods. --interval is 10ms unless given.\n\n"
		"      --method METHOD      relative: sleep for the interval; compensated: less the time\n"
		"                           that the work took; absolute: until the deadline; timerfd; all (all)\n"
		"      --work TIME          CPU time that each period computes; bare: us (1ms)\n"
		"      --low TIME           a shorter period is counted under; bare: us (97 % of interval)\n"
		"      --high TIME          a longer period is counted over; bare: us (103 % of interval)\n"
		"      --observer CPU       CPU that does nothing but watch; self: the loop's own clock\n"
		"                           (the last other CPU of --cpus, or else of the machine)\n"
		"      --observer-rest no   never give that CPU to others: for one that nothing else needs\n"
		"                           (yes: for half an interval after each edge)\n",
	.examples =
		"  rtscope-agent loop -D 30s --load mixed         as the driver report's tables\n"
		"  rtscope-agent loop -a 2 --observer 3 --method absolute -i 1ms --work 200us -D 1m\n",
	.options = options,
	.short_options = "",
	.defaults = defaults,
	.option = take_option,
	.describe = describe,
	.facts = facts,
	.plan = plan,
};

int loop_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
