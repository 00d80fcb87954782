// SPDX-License-Identifier: GPL-2.0-only
/*
 * cyclic: how late a thread wakes from a timed sleep.
 *
 * One thread a CPU sleeps until an absolute deadline and reads the clock when
 * it runs again; the latency is the difference. The deadlines are those of a
 * period, each moved by a phase that sweeps the interval back and forth in
 * steps which share no factor with it: a thread that always woke at the same
 * place in another timer's period would never meet what happens in the rest of
 * it. The phase is part of the deadline, so it is not part of the latency.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

/*
 * A phase is a position on a triangle wave over 32 bits. The step, odd and a
 * golden fraction of a sixteenth of the wave, moves it by 6.2 % of the interval.
 */
#define PHASE_STEP 132721791U

static struct {
	uint64_t distance_ns;
	bool timerfd;
	bool fixed_phase;
} cyclic;

static const char *const methods[] = { "nanosleep", "timerfd", NULL };
static const char *const phases[] = { "sweep", "fixed", NULL };

static const struct option_spec options[] = {
	{ .name = "distance",
	  .letter = 'd',
	  .kind = OPTION_TIME,
	  .max = NSEC_PER_SEC,
	  .preset = "0",
	  .help = "Make the interval of thread N longer by N times TIME",
	  .value = &cyclic.distance_ns },
	{ .name = "method",
	  .kind = OPTION_EITHER,
	  .choices = methods,
	  .metavar = "METHOD",
	  .preset = "nanosleep",
	  .help = "Sleep by clock_nanosleep() or by a timerfd",
	  .value = &cyclic.timerfd },
	{ .name = "phase",
	  .kind = OPTION_EITHER,
	  .choices = phases,
	  .metavar = "PHASE",
	  .preset = "sweep",
	  .help = "Sweep the deadlines through the interval, or fix them",
	  .value = &cyclic.fixed_phase },
	{ 0 },
};

static void measure(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	(void)error;
	(void)error_size;
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = (struct role){
			.name = "",
			.body = measure,
			.cpu = cpus->number[i],
			.priority = session->priority,
			.interval_ns = session->interval_ns + i * cyclic.distance_ns,
		};
	return (int)cpus->count;
}

struct deadline {
	uint64_t period_start_ns; /* the period's own beginning */
	uint64_t interval_ns;
	uint32_t phase;	     /* place on the triangle wave */
	uint32_t phase_step; /* 0: the phase stays where it is */
};

static inline uint64_t deadline_ns(const struct deadline *deadline)
{
	uint32_t folded = deadline->phase ^ (uint32_t)((int32_t)deadline->phase >> 31);

	return deadline->period_start_ns +
	       (uint64_t)(((unsigned __int128)deadline->interval_ns * folded) >> 31);
}

static inline uint64_t deadline_advance(struct deadline *deadline, uint64_t periods)
{
	deadline->period_start_ns += periods * deadline->interval_ns;
	deadline->phase += (uint32_t)periods * deadline->phase_step;
	return deadline_ns(deadline);
}

/* Pass over the periods that are gone at @now_ns; returns how many. */
static __attribute__((noinline)) uint64_t deadline_catch_up(struct deadline *deadline,
							    uint64_t now_ns)
{
	uint64_t missed = (now_ns - deadline_ns(deadline)) / deadline->interval_ns;

	if (missed) /* the phase may move a deadline by most of an interval */
		missed--;
	deadline_advance(deadline, missed);
	while (deadline_ns(deadline) <= now_ns) {
		deadline_advance(deadline, 1);
		missed++;
	}
	return missed;
}

/* As clock_sleep_until(), by a timer that is a file. */
static int timer_until(int fd, uint64_t due_ns)
{
	struct itimerspec due = { .it_value = ns_to_timespec(due_ns) };
	uint64_t expirations;

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &due, NULL) ||
	    read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return errno;
	return 0;
}

static struct deadline first_deadline(const struct measuring *measuring)
{
	struct deadline deadline = {
		.period_start_ns = measuring->start_ns,
		.interval_ns = measuring->role.interval_ns,
	};

	if (!cyclic.fixed_phase) {
		/* Weyl's sequence spreads seeds and threads over the wave. */
		deadline.phase =
			(uint32_t)((measuring->options->seed + measuring->index) * 2654435769U);
		deadline.phase_step = PHASE_STEP;
	}
	return deadline;
}

/* Count the periods gone at @now_ns as missed, those before the end; returns the next deadline. */
static uint64_t pass_over(struct measuring *measuring, struct deadline *deadline, uint64_t now_ns)
{
	if (now_ns >= measuring->end_ns)
		now_ns = measuring->end_ns - 1;
	if (deadline_ns(deadline) <= now_ns)
		record_set(measuring->record.missed,
			   measuring->record.missed + deadline_catch_up(deadline, now_ns));
	return deadline_ns(deadline);
}

static void measure(struct measuring *measuring)
{
	struct deadline deadline = first_deadline(measuring);
	struct record *record = &measuring->record;
	uint64_t due_ns = deadline_ns(&deadline), now_ns;
	int timer = -1, ended;

	if (cyclic.timerfd) {
		timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timer < 0) {
			measuring->error = errno;
			return;
		}
	}
	if (due_ns <= clock_now_ns()) { /* a slow start: nobody waited for these */
		deadline_catch_up(&deadline, clock_now_ns());
		due_ns = deadline_ns(&deadline);
	}
	while (measuring_goes_on(measuring, due_ns)) {
		ended = timer < 0 ? clock_sleep_until(due_ns) : timer_until(timer, due_ns);
		now_ns = clock_now_ns();
		if (ended == EINTR)
			continue;
		if (ended) {
			measuring->error = ended;
			break;
		}
		if (!record_add(record, due_ns, now_ns))
			record_set(record->missed, record->missed + 1);
		if (record->threshold_reached)
			break;
		due_ns = deadline_advance(&deadline, 1);
		if (due_ns <= now_ns)
			due_ns = pass_over(measuring, &deadline, now_ns);
	}
	if (timer >= 0)
		close(timer);
}

const struct probe cyclic_probe = {
	.name = "cyclic",
	.summary = "how late a thread wakes from a timed sleep",
	.help = "Wake-up latency of a timed sleep: from the deadline until the thread reads the clock when it\n"
		"runs again.\n",
	.examples =
		"  rtscope-agent cyclic -D 1m                      as cyclictest -S -m -p80 -D 1m\n"
		"  rtscope-agent cyclic -a 2,3 -i 200 -p 95 -D 8h --load mixed\n"
		"  rtscope-agent cyclic --json -D 10s | jq 'select(.type == \"thread\")'\n",
	.options = options,
	.plan = plan,
};
