// SPDX-License-Identifier: GPL-2.0-only
/*
 * The busy threads compute for a share of each period of the report's main loop,
 * with random pauses, and sleep for the rest of it. Their bursts end by the clock.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/pause.h"
#include "probe/program.h"

#define WORK_PERIOD_NS (NSEC_PER_SEC / 120)
#define BUSY_MAX       80

/* In the order the report's program made them, without its main thread and its waiter. */
static const uint8_t priorities[] = {
	10, 10, 69, 58, 63, 70, 50, 90, 79, 59, 69, 59, 60, 61, 62,
	63, 64, 65, 16, 14, 12, 10, 51, 53, 51, 18, 20, 18, 20,
};
_Static_assert(sizeof(priorities) == PROGRAM_OTHERS, "each of the others has a priority");
_Static_assert(RECIPIENT_WAITER < RECIPIENTS_MAX, "too few recipients");

unsigned int program_busy_percent;

static struct {
	cpu_set_t cpus;
	int signal;		  /* that is handled */
	unsigned int first_other; /* of the session's threads */
	unsigned int to_be_up;	  /* threads that are not in place yet */
} program;

void program_settle(const struct measuring *measuring, unsigned int recipient, bool handle)
{
	sigset_t set;

	event_recipient = recipient;
	if (measuring->role.cpu < 0)
		sched_setaffinity(0, sizeof(program.cpus), &program.cpus);
	if (program.signal) {
		sigemptyset(&set);
		sigaddset(&set, program.signal);
		pthread_sigmask(handle ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
	}
	__atomic_fetch_sub(&program.to_be_up, 1, __ATOMIC_ACQ_REL);
}

void program_await(const struct control *control)
{
	static const struct timespec moment = { .tv_nsec = NSEC_PER_MSEC };

	sched_setaffinity(getpid(), sizeof(program.cpus), &program.cpus);
	while (__atomic_load_n(&program.to_be_up, __ATOMIC_ACQUIRE) &&
	       record_get(control->until_ns))
		nanosleep(&moment, NULL);
}

static void be_busy(struct measuring *measuring)
{
	uint64_t random = measuring->options->seed + event_recipient, due_ns = measuring->start_ns;

	while (measuring_goes_on(measuring, due_ns)) {
		uint64_t pause_ns, end_ns;

		if (clock_sleep_until(due_ns))
			continue;
		pause_ns = pause_next_ns(&random, WORK_PERIOD_NS);
		end_ns = due_ns + pause_ns * program_busy_percent / 100;
		while (clock_now_ns() < end_ns)
			;
		due_ns += pause_ns;
	}
}

/* One of the others; those with a CPU of their own are busy. */
static void be_program(struct measuring *measuring)
{
	unsigned int recipient = measuring->index - program.first_other + 1;

	recipients_name(recipient, measuring);
	program_settle(measuring, recipient, true);
	if (measuring->role.cpu >= 0 && program_busy_percent)
		be_busy(measuring);
	while (record_get(measuring->control->until_ns))
		pause();
}

/* The place in @priorities of the @rank-th highest. */
static unsigned int ranked(unsigned int rank)
{
	for (unsigned int i = 0; i < PROGRAM_OTHERS; i++) {
		unsigned int before = 0;

		for (unsigned int j = 0; j < PROGRAM_OTHERS; j++)
			before += priorities[j] > priorities[i] ||
				  (priorities[j] == priorities[i] && j < i);
		if (before == rank)
			return i;
	}
	return 0;
}

int program_plan(const struct cpus *cpus, int signal, struct role *roles, int count)
{
	for (unsigned int i = 0; i < cpus->count; i++)
		CPU_SET(cpus->number[i], &program.cpus);
	program.signal = signal;
	program.first_other = (unsigned int)count;
	for (unsigned int i = 0; i < PROGRAM_OTHERS; i++)
		roles[count++] = (struct role){
			.name = "",
			.body = be_program,
			.cpu = -1,
			.priority = priorities[i],
			.silent = true,
		};
	for (unsigned int i = 0; i < cpus->count && i < PROGRAM_OTHERS; i++)
		roles[program.first_other + ranked(i)].cpu = cpus->number[i];
	program.to_be_up = (unsigned int)count;
	return count;
}
