// SPDX-License-Identifier: GPL-2.0-only
/*
 * pi: how long a priority inversion makes a thread wait, with and without
 * priority inheritance.
 *
 * Three threads share one CPU. In each round the low one takes a lock and wakes
 * the high one, which waits for the lock; the low one then wakes the medium one,
 * which wants no lock but the CPU, and computes for the known time that it holds
 * the lock. With inheritance the low thread has the high one's priority until it
 * lets go, so the wait is the hold; without, the medium thread runs first, so
 * the wait is longer by all that it computes. The order is certain because the
 * three are SCHED_FIFO on one CPU: low runs again only when high is blocked.
 *
 * Rounds with and without inheritance alternate, so that both meet the same
 * disturbances.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

enum series {
	INHERIT,
	NONE,
	SERIES,
};

static struct {
	uint64_t hold_ns;
	uint64_t medium_ns;
	pthread_mutex_t lock[SERIES];
	enum series round; /* whose round this is */
	sem_t free;	   /* no round is running */
	sem_t low_go, low_holds;
	sem_t medium_go, medium_done;
} pi;

static const struct option_spec options[] = {
	{ .name = "hold",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "2ms",
	  .help = "CPU time for which the lock is held",
	  .value = &pi.hold_ns },
	{ .name = "medium",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "10ms",
	  .help = "CPU time for which the medium thread computes",
	  .value = &pi.medium_ns },
	{ 0 },
};

static const struct option_preset presets[] = { { "interval", "50ms" }, { 0 } };

static int check_options(const struct session_options *session, char *error, size_t error_size)
{
	struct schedule high = { .policy = POLICY_FIFO, .priority = session->priority };

	if (session->policy != POLICY_FIFO || session->priority < 3) {
		return options_refuse(error, error_size, "policy priority",
				      "three SCHED_FIFO priorities are needed: leave --policy fifo and give a --priority from 3");
	}
	if (!session->dry_run && !realtime_may_enter(&high)) {
		return options_refuse(error, error_size, "priority",
				      "SCHED_FIFO priority %u is refused to this user, and without it there is no inversion to measure; run as root, or give a --priority that ulimit -r allows",
				      high.priority);
	}
	if (pi.hold_ns > session->interval_ns || pi.medium_ns > session->interval_ns ||
	    (pi.hold_ns + pi.medium_ns) > session->interval_ns / 10 * 9) {
		return options_refuse(error, error_size, "hold medium interval",
				      "--hold and --medium, together %llu ns, leave too little of each --interval of %llu ns: a tenth must be free",
				      (unsigned long long)(pi.hold_ns + pi.medium_ns),
				      (unsigned long long)session->interval_ns);
	}
	return 0;
}

static int make_locks(char *error, size_t error_size)
{
	pthread_mutexattr_t attributes;
	int result;

	pthread_mutex_init(&pi.lock[NONE], NULL);
	pthread_mutexattr_init(&attributes);
	result = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (!result)
		result = pthread_mutex_init(&pi.lock[INHERIT], &attributes);
	if (result) {
		snprintf(error, error_size,
			 "this kernel has no mutex with priority inheritance (%s): it needs CONFIG_FUTEX_PI",
			 strerror(result));
		return -1;
	}
	sem_init(&pi.free, 0, 1);
	sem_init(&pi.low_go, 0, 0);
	sem_init(&pi.low_holds, 0, 0);
	sem_init(&pi.medium_go, 0, 0);
	sem_init(&pi.medium_done, 0, 0);
	return 0;
}

static void be_high(struct measuring *measuring);
static void be_medium(struct measuring *measuring);
static void be_low(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	const struct role wanted[] = {
		{ .name = "inherit", .body = be_high, .priority = session->priority },
		{ .name = "none", .body = be_high, .priority = session->priority },
		{ .name = "medium",
		  .body = be_medium,
		  .priority = session->priority - 1,
		  .silent = true },
		{ .name = "low", .body = be_low, .priority = session->priority - 2, .silent = true },
	};
	int count = sizeof(wanted) / sizeof(wanted[0]);

	if (check_options(session, error, error_size) || make_locks(error, error_size))
		return -1;
	for (int i = 0; i < count; i++) {
		roles[i] = wanted[i];
		roles[i].cpu = cpus->number[0];
		roles[i].interval_ns = SERIES * session->interval_ns;
	}
	return count;
}

/* False when measuring has ended. */
static bool wait_for(struct measuring *measuring, sem_t *semaphore)
{
	while (sem_wait(semaphore)) {
		if (!record_get(measuring->control->until_ns))
			return false;
	}
	return true;
}

static void be_low(struct measuring *measuring)
{
	while (wait_for(measuring, &pi.low_go)) {
		pthread_mutex_t *lock = &pi.lock[pi.round];

		pthread_mutex_lock(lock);
		sem_post(&pi.low_holds);
		sem_post(&pi.medium_go);
		clock_work(pi.hold_ns);
		pthread_mutex_unlock(lock);
	}
}

static void be_medium(struct measuring *measuring)
{
	while (wait_for(measuring, &pi.medium_go)) {
		clock_work(pi.medium_ns);
		sem_post(&pi.medium_done);
	}
}

/* One round, once it is this series' turn. False when measuring has ended. */
static bool run_round(struct measuring *measuring, enum series series)
{
	struct record *record = &measuring->record;
	uint64_t asked_ns, got_ns;

	pi.round = series;
	sem_post(&pi.low_go);
	if (!wait_for(measuring, &pi.low_holds))
		return false;
	asked_ns = clock_now_ns();
	pthread_mutex_lock(&pi.lock[series]);
	got_ns = clock_now_ns();
	pthread_mutex_unlock(&pi.lock[series]);
	record_add(record, asked_ns, got_ns);
	return wait_for(measuring, &pi.medium_done);
}

static void be_high(struct measuring *measuring)
{
	uint64_t interval_ns = measuring->role.interval_ns, inversions = 0, now_ns;
	uint64_t due_ns = measuring->start_ns + measuring->index * interval_ns / SERIES;
	struct record *record = &measuring->record;

	while (measuring_goes_on(measuring, due_ns) && !clock_sleep_until(due_ns) &&
	       wait_for(measuring, &pi.free)) {
		if (!run_round(measuring, measuring->index))
			break;
		sem_post(&pi.free);
		inversions += record->last_ns > pi.hold_ns + pi.medium_ns / 2;
		if (record->threshold_reached)
			break;
		now_ns = clock_now_ns();
		for (due_ns += interval_ns; due_ns <= now_ns; due_ns += interval_ns)
			record_set(record->missed, record->missed + 1);
	}
	measuring_metric(measuring, "hold_ns", (double)pi.hold_ns);
	measuring_metric(measuring, "medium_ns", (double)pi.medium_ns);
	measuring_metric(measuring, "inversions", (double)inversions);
}

static const char *const metrics[] = { "hold_ns", "medium_ns", "inversions", NULL };

const struct probe pi_probe = {
	.name = "pi",
	.summary = "how long a priority inversion makes a thread wait",
	.help = "Priority inversion: how long the thread of highest priority waits for a lock that the lowest one\n"
		"holds while one of medium priority computes, from asking for the lock until it has it. All run on\n"
		"the first CPU of --cpus, at --priority and the two below it. Rounds with a lock that inherits\n"
		"priority alternate with rounds with one that does not.\n",
	.examples = "  rtscope-agent pi -D 30s\n"
		    "  rtscope-agent pi -a 3 --hold 500us --medium 5ms -i 20ms -l 1000\n",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
};
