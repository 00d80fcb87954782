// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loops of the module rtloop.
 *
 * The kernel's thread, or its timer, does what a measuring thread does otherwise;
 * the thread here starts it for its turn and looks after it: now and then, in the
 * middle of a period, when it sleeps. Where nobody watches from outside, it takes
 * the edges that the page still holds, by the time that the kernel gave them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/device.h"
#include "probe/loop.h"

#define LOOK_PERIODS (RTLOOP_MARKS / 2)
#define TRIAL_NS     (100 * NSEC_PER_SEC)

const char *const kernel_method_names[] = {
	[RTLOOP_TIMER] = "timer",
	[RTLOOP_RELATIVE] = "relative",
	[RTLOOP_ABSOLUTE] = "absolute",
	[RTLOOP_DEADLINE] = "deadline",
};

const char *const kernel_loop_names[] = {
	[RTLOOP_TIMER] = "kernel-timer",
	[RTLOOP_RELATIVE] = "kernel-relative",
	[RTLOOP_ABSOLUTE] = "kernel-absolute",
	[RTLOOP_DEADLINE] = "kernel-deadline",
};

static int devices[LOOPS_MAX];

static bool sleeps_in_thread(unsigned int method)
{
	return method == RTLOOP_RELATIVE || method == RTLOOP_ABSOLUTE;
}

static int start(unsigned int index, unsigned int priority, int cpu, uint64_t start_ns,
		 uint64_t end_ns)
{
	struct rtloop_setup setup = {
		.method = loop.method + index,
		.priority = sleeps_in_thread(loop.method + index) ? priority : 0,
		.cpu = cpu,
		.period_ns = loop.limits.interval_ns,
		.slack_ns = loop.slack_ns,
		.poll_ns = loop.work_ns,
		.start_ns = start_ns,
		.end_ns = end_ns,
	};

	return ioctl(devices[index], RTLOOP_START, &setup);
}

static int check_limits(char *error, size_t error_size)
{
	uint64_t period_ns = loop.limits.interval_ns;
	uint64_t most_ns = period_ns * RTLOOP_POLL_PERCENT / 100;

	if (period_ns < RTLOOP_PERIOD_MIN_NS || period_ns > RTLOOP_PERIOD_MAX_NS)
		options_refuse(error, error_size, "interval in",
			       "--interval %llu ns is not from 100us to 1s, as --in kernel needs it",
			       (unsigned long long)period_ns);
	else if (loop.work_ns > most_ns)
		options_refuse(error, error_size, "work interval in",
			       "--work %llu ns is more than %d %% of the --interval, the most that --in kernel takes",
			       (unsigned long long)loop.work_ns, RTLOOP_POLL_PERCENT);
	else if (loop.slack_ns > period_ns)
		options_refuse(error, error_size, "slack interval",
			       "--slack %llu ns is longer than the --interval",
			       (unsigned long long)loop.slack_ns);
	else
		return 0;
	return -1;
}

static int reach(unsigned int index, char *error, size_t error_size)
{
	devices[index] = device_open("rtloop", O_RDWR, error, error_size);
	if (devices[index] < 0)
		return -1;
	loop.watch[index].pulse =
		mmap(NULL, sizeof(struct rtloop_page), PROT_READ, MAP_SHARED, devices[index], 0);
	if (loop.watch[index].pulse != MAP_FAILED)
		return 0;
	snprintf(error, error_size, "/dev/rtloop cannot be mapped: %s", strerror(errno));
	return -1;
}

/* Started for a moment that is not waited for, so that a refusal comes before anything runs. */
static int try(unsigned int index, const struct session_options *session, int cpu, char *error,
	       size_t error_size)
{
	uint64_t later_ns = clock_now_ns() + TRIAL_NS;
	char said[200];
	int number;

	if (!start(index, session->priority, cpu, later_ns, UINT64_MAX) &&
	    !ioctl(devices[index], RTLOOP_STOP))
		return 0;
	number = errno;
	device_said("rtloop", said, sizeof(said));
	snprintf(error, error_size, "the module rtloop does not start the loop '%s': %s; %s",
		 kernel_method_names[loop.method + index], strerror(number), said);
	return -1;
}

int loop_reach_kernel(const struct session_options *session, int cpu, char *error,
		      size_t error_size)
{
	if (check_limits(error, error_size))
		return -1;
	for (unsigned int i = 0; i < loop.loops && !session->dry_run; i++) {
		if (reach(i, error, error_size) || try(i, session, cpu, error, error_size))
			return -1;
	}
	return 0;
}

/* The loop's schedule, in place of that of the thread that supervises it. */
static void show_schedule(struct measuring *measuring)
{
	unsigned int method = loop.method + measuring->index;

	if (method == RTLOOP_TIMER)
		measuring->schedule = (struct schedule){ .policy = POLICY_OTHER };
	if (method == RTLOOP_DEADLINE)
		measuring->schedule = (struct schedule){ .policy = POLICY_DEADLINE };
}

static void look(struct measuring *measuring)
{
	struct watch *watch = &loop.watch[measuring->index];
	uint64_t edges = pulse_edges(watch->pulse);

	record_set(measuring->record.missed,
		   __atomic_load_n(&watch->pulse->missed, __ATOMIC_RELAXED));
	if (loop.observer == OBSERVER_SELF)
		watch_look(watch, &loop.limits, edges, 0, clock_now_ns());
}

/* In the middle of a period, predicted from the last one. */
static uint64_t next_look_ns(const struct rtloop_page *page)
{
	uint64_t edges = pulse_edges(page), interval_ns = loop.limits.interval_ns;
	uint64_t now_ns = clock_now_ns(), look_ns = now_ns;

	if (edges)
		look_ns = __atomic_load_n(&page->mark[edges % RTLOOP_MARKS], __ATOMIC_ACQUIRE) >> 1;
	look_ns += LOOK_PERIODS * interval_ns + interval_ns / 2;
	return look_ns > now_ns ? look_ns : now_ns + LOOK_PERIODS * interval_ns;
}

/* Look after the loop until its turn is over at @end_ns. False when measuring is. */
static bool follow(struct measuring *measuring, uint64_t end_ns)
{
	const struct rtloop_page *page = loop.watch[measuring->index].pulse;
	uint64_t last_ns = (end_ns < measuring->end_ns ? end_ns : measuring->end_ns) - 1;
	uint64_t due_ns = 0;

	while (due_ns != last_ns) {
		due_ns = next_look_ns(page);
		if (due_ns > last_ns)
			due_ns = last_ns;
		if (!measuring_goes_on(measuring, due_ns) || clock_sleep_until(due_ns))
			return false;
		look(measuring);
		if (record_get(measuring->record.threshold_reached))
			return false;
	}
	return measuring_goes_on(measuring, last_ns + 1);
}

static int take_turn(struct measuring *measuring, uint64_t start_ns, uint64_t end_ns, bool *goes_on)
{
	unsigned int index = measuring->index;

	if (start(index, measuring->schedule.priority, measuring->role.cpu, start_ns, end_ns))
		return errno;
	*goes_on = follow(measuring, end_ns);
	if (ioctl(devices[index], RTLOOP_STOP))
		return errno;
	look(measuring);
	return 0;
}

void loop_in_kernel(struct measuring *measuring)
{
	uint64_t start_ns = measuring->start_ns, turn_ns = loop.turn_ns;
	struct watch *watch = &loop.watch[measuring->index];
	bool goes_on = true;

	measuring->record.cpu = measuring->role.cpu; /* the observer may add the samples */
	watch->measuring = measuring;
	if (loop.loops == 1)
		turn_ns = UINT64_MAX - start_ns;
	else
		start_ns += measuring->index * turn_ns;
	show_schedule(measuring);
	while (!measuring->error && goes_on && loop_await_turn(measuring, start_ns)) {
		/* It cannot begin at once: the first period is one interval later. */
		measuring->error = take_turn(measuring, start_ns + loop.limits.interval_ns,
					     start_ns + turn_ns, &goes_on);
		start_ns += loop.loops * turn_ns;
	}
	if (loop.observer == OBSERVER_SELF)
		watch_report(watch, &loop.limits, NULL);
}
