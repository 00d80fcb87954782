// SPDX-License-Identifier: GPL-2.0-only
/*
 * response: how long the threads of a user's program take, from their wake-up until they sleep again.
 *
 * The program is not changed and not stopped. The kernel's trace has each wake-up and each switch;
 * the housekeeping thread reads it every 20 ms. The events of one CPU come in order, but those of
 * several do not, so that each round is sorted, and what is younger than the round waits for the
 * next. Where events were lost, the cycles that were under way are not counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/pattern.h"
#include "probe/probe.h"
#include "probe/response.h"
#include "trace/sched.h"

#define THREADS_MAX 64U
#define EVENTS_MAX  8192U
#define POLL_NS	    (20 * NSEC_PER_MSEC)

static struct {
	const char *thread;
	const char *point;
	uint64_t pid;
} asked;

struct watched {
	int tid;
	uint64_t awake_ns; /* since when; 0: it sleeps, or that is not known */
	uint64_t seen_ns;  /* the last event */
};

struct step {
	uint64_t time_ns;
	struct watched *thread;
	int cpu;
	bool sleeps;
};

static struct watched watched[THREADS_MAX];
static struct step *steps;
static unsigned int watched_count, step_count;
static uint64_t lost_rounds;

static const struct option_spec options[] = {
	{ .name = "thread",
	  .kind = OPTION_TEXT,
	  .metavar = "NAME",
	  .help = "Measure the threads of this name, as in /proc/PID/task/TID/comm; * and ? match any text and any character",
	  .value = &asked.thread },
	{ .name = "pid",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = INT32_MAX,
	  .help = "Take the late cycles of this process's measurement points instead (rtscope/points.h)",
	  .value = &asked.pid },
	{ .name = "point",
	  .kind = OPTION_TEXT,
	  .metavar = "NAME",
	  .computed = "all with a budget",
	  .help = "Only this measurement point",
	  .value = &asked.point },
	{ 0 },
};

/* Nothing here is woken by a timer, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "policy", "other" },
	{ "interval", NULL },
	{ "priority", NULL },
	{ 0 },
};

static bool fits(const char *name)
{
	char text[TASK_NAME_SIZE + 1] = "";

	memcpy(text, name, TASK_NAME_SIZE);
	return pattern_fits(text, asked.thread, strlen(asked.thread));
}

/* A thread that is watched; a new one replaces the one that had no event for longest. */
static struct watched *thread_of(const struct sched_task *task, uint64_t now_ns, bool add)
{
	struct watched *oldest = &watched[0];

	for (unsigned int i = 0; i < watched_count; i++) {
		if (watched[i].tid == task->tid) {
			watched[i].seen_ns = now_ns;
			return &watched[i];
		}
		if (watched[i].seen_ns < oldest->seen_ns)
			oldest = &watched[i];
	}
	if (!add)
		return NULL;
	if (watched_count < THREADS_MAX)
		oldest = &watched[watched_count++];
	else if (step_count) /* a step may name the oldest one */
		return NULL;
	*oldest = (struct watched){ .tid = task->tid, .seen_ns = now_ns };
	return oldest;
}

static void take_event(const struct sched_event *event, void *data)
{
	bool sleeps = event->is_switch;
	struct watched *thread;

	(void)data;
	if (sleeps && event->stays_runnable)
		return;
	if (!fits(event->task.name))
		return;
	thread = thread_of(&event->task, event->time_ns, !sleeps);
	if (!thread)
		return;
	if (step_count == EVENTS_MAX) {
		lost_rounds++;
		return;
	}
	steps[step_count++] = (struct step){
		.time_ns = event->time_ns,
		.thread = thread,
		.cpu = (int)event->cpu,
		.sleeps = sleeps,
	};
}

static int by_time(const void *first, const void *second)
{
	const struct step *a = first, *b = second;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void take_step(struct measuring *measuring, const struct step *step)
{
	struct record *record = &measuring->record;
	struct watched *thread = step->thread;

	if (!step->sleeps) {
		if (!thread->awake_ns)
			thread->awake_ns = step->time_ns;
		return;
	}
	if (thread->awake_ns >= measuring->start_ns &&
	    record_get(record->count) < measuring->samples) {
		record->cpu = step->cpu;
		record->tid = thread->tid;
		record_add(record, thread->awake_ns, step->time_ns);
	}
	thread->awake_ns = 0;
}

static void end_round(struct measuring *measuring, uint64_t until_ns, bool lost)
{
	unsigned int done = 0;

	qsort(steps, step_count, sizeof(*steps), by_time);
	while (done < step_count && steps[done].time_ns < until_ns)
		take_step(measuring, &steps[done++]);
	step_count -= done;
	memmove(steps, steps + done, step_count * sizeof(*steps));
	if (!lost)
		return;
	lost_rounds++;
	for (unsigned int i = 0; i < watched_count; i++)
		watched[i].awake_ns = 0;
}

static void measure(struct measuring *measuring)
{
	measuring->record.cpu = 0; /* each sample brings its own */
	while (measuring_goes_on(measuring, clock_now_ns())) {
		if (measuring->record.threshold_reached)
			return;
		clock_sleep_until(clock_now_ns() + POLL_NS);
	}
}

static void measure_points(struct measuring *measuring)
{
	response_points_poll(measuring);
}

static bool needs_trace(void)
{
	return asked.thread;
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	(void)cpus;
	if (!asked.thread == !asked.pid)
		return options_refuse(error, error_size, "thread",
				      "response needs --thread NAME or --pid PID, and not both");
	if (asked.point && !asked.pid)
		return options_refuse(error, error_size, "point",
				      "--point is a measurement point of the process --pid: give that, too");
	if (asked.thread && strlen(asked.thread) >= TASK_NAME_SIZE && !strpbrk(asked.thread, "*?"))
		return options_refuse(error, error_size, "thread",
				      "--thread %s: the kernel keeps the first 15 bytes of a thread's name; write those, or end with *",
				      asked.thread);
	if (asked.pid && !session->dry_run &&
	    response_points_open((pid_t)asked.pid, asked.point, error, error_size))
		return -1;
	steps = asked.thread ? calloc(EVENTS_MAX, sizeof(*steps)) : NULL;
	if (asked.thread && !steps) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	roles[0] = (struct role){
		.name = asked.thread ? asked.thread :
			asked.point  ? asked.point :
				       "",
		.body = asked.thread ? measure : measure_points,
		.cpu = -1,
	};
	return 1;
}

static void add(const struct measuring *measuring, struct json *json)
{
	(void)measuring;
	if (asked.thread)
		json_u64(json, "lost_rounds", lost_rounds);
}

const struct probe response_probe = {
	.name = "response",
	.summary = "how long the threads of a program take from wake-up to sleep",
	.help = "Response time of a program of yours, which is not changed: from the wake-up of a thread until it\n"
		"sleeps again, by the kernel's trace. With --pid instead the cycles that are longer than the\n"
		"budgets of the program's measurement points; a cycle within its budget is not counted.\n",
	.examples = "  rtscope-agent response --thread control -D 1m\n"
		    "  rtscope-agent response --json --thread 'axis*' --above 200us\n"
		    "  rtscope-agent response --json --pid 1234 --point MAINLOOP --above 1\n",
	.options = options,
	.presets = presets,
	.plan = plan,
	.add = add,
	.needs_trace = needs_trace,
	.sched_event = take_event,
	.sched_round = end_round,
};
