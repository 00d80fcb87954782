// SPDX-License-Identifier: GPL-2.0-only
/* Threads that work together on command. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "proc/futex.h"
#include "base/options.h"
#include "probe/workers.h"

#define DISMISSED  UINT32_MAX
#define SPINS	   2000 /* before a wait gives its CPU away, for one whom it waits for */
#define HELD_SPINS 200
#define REST	   4 /* a slot's time by this: a pause after it */
#define STAY	   4 /* slots of a member while others still count */

static struct {
	struct member *member;
	unsigned int count;
	const struct control *control;
	uint64_t slot_ns;
	unsigned int working; /* members in this slot */
	uint32_t arrived;     /* of them, ready to begin */
	uint32_t counted;     /* of them, at the end of their count */
	uint32_t left;	      /* the coordinator's futex: of them, still in the slot */
	bool completed;
} workers;

int workers_check(const char *probe, const struct session_options *session, char *error,
		  size_t error_size)
{
	if (session->policy == POLICY_DEADLINE)
		options_refuse(error, error_size, "policy",
			       "%s works without a pause, which SCHED_DEADLINE does not grant: measure with --policy fifo or other",
			       probe);
	else if (session->samples > WORKERS_SAMPLES_MAX)
		options_refuse(error, error_size, "samples slot",
			       "--samples %llu are repeats of all that %s compares: at most %d are kept; a longer --slot makes each more exact",
			       (unsigned long long)session->samples, probe, WORKERS_SAMPLES_MAX);
	else
		return 0;
	return -1;
}

int workers_roles(const struct session_options *session, const struct cpus *cpus,
		  void (*conduct)(struct measuring *measuring), struct role *roles)
{
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = (struct role){
			.name = "",
			.body = workers_serve,
			.cpu = cpus->number[i],
			.priority = session->priority,
			.spins = true,
		};
	roles[cpus->count] = (struct role){
		.name = "coordinator",
		.body = conduct,
		.cpu = -1,
		.priority = session->priority,
		.silent = true,
	};
	return (int)cpus->count + 1;
}

int workers_init(unsigned int count)
{
	workers.count = count;
	if (posix_memalign((void **)&workers.member, 128, count * sizeof(*workers.member)))
		return -1;
	for (unsigned int i = 0; i < count; i++)
		workers.member[i] = (struct member){ 0 };
	return 0;
}

void workers_lead(const struct measuring *coordinator)
{
	workers.control = coordinator->control;
}

struct member *workers_member(unsigned int index)
{
	return &workers.member[index];
}

static bool session_ended(void)
{
	return !record_get(workers.control->until_ns);
}

/* Until *@word is no longer @value, or the session ends. */
static bool sleep_while(uint32_t *word, uint32_t value, const struct control *control)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		if (!record_get(control->until_ns))
			return false;
		futex_sleep(word, value);
	}
	return true;
}

static bool wait_for_all(uint32_t *arrived)
{
	__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
	for (unsigned int spins = 0; __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < workers.working;
	     spins++) {
		if (session_ended())
			return false;
		if (spins < SPINS)
			workers_relax();
		else
			sched_yield();
	}
	return true;
}

bool workers_is_over(void)
{
	return __atomic_load_n(&workers.counted, __ATOMIC_ACQUIRE) >= workers.working ||
	       session_ended();
}

/*
 * Go on until all have counted. Somebody may not get there before this CPU is free, whose file is
 * written by a kernel thread that has to run here; and somebody not without this work, who waits
 * for an answer.
 */
static void stay(struct member *member, uint64_t start_ns)
{
	const struct job *job = &member->job;

	while (!workers_is_over()) {
		uint64_t now_ns = clock_now_ns();

		if (now_ns - start_ns >= STAY * workers.slot_ns)
			clock_sleep_until(now_ns + NSEC_PER_MSEC);
		job->work(member, job->context);
	}
}

/* Count what is done in a slot. */
static void work(struct member *member)
{
	const struct job *job = &member->job;
	uint64_t start_ns = clock_now_ns(), now_ns = start_ns, done = 0;

	while (now_ns - start_ns < workers.slot_ns && !session_ended()) {
		done += job->work(member, job->context);
		now_ns = clock_now_ns();
	}
	member->done = done;
	member->wall_ns = now_ns - start_ns;
	__atomic_add_fetch(&workers.counted, 1, __ATOMIC_ACQ_REL);
	stay(member, start_ns);
}

void workers_serve(struct measuring *measuring)
{
	struct member *member = &workers.member[measuring->index];
	uint32_t order = 0;

	member->measuring = measuring;
	measuring->record.cpu = measuring->role.cpu; /* the coordinator adds the samples */
	while (sleep_while(&member->order, order, measuring->control)) {
		order = __atomic_load_n(&member->order, __ATOMIC_ACQUIRE);
		if (order == DISMISSED) {
			measuring->completed = workers.completed;
			return;
		}
		if (member->job.prepare)
			member->job.prepare(member, member->job.context);
		if (wait_for_all(&workers.arrived))
			work(member);
		if (!__atomic_sub_fetch(&workers.left, 1, __ATOMIC_ACQ_REL))
			futex_wake_all(&workers.left);
	}
}

static void give_order(struct member *member, uint32_t order)
{
	__atomic_store_n(&member->order, order, __ATOMIC_RELEASE);
	futex_wake_all(&member->order);
}

bool workers_work(const unsigned int *index, unsigned int count, uint64_t slot_ns)
{
	uint64_t start_ns = clock_now_ns(), now_ns;
	uint32_t left;

	workers.slot_ns = slot_ns;
	workers.working = count;
	workers.arrived = 0;
	workers.counted = 0;
	workers.left = count;
	for (unsigned int i = 0; i < count; i++) {
		struct member *member = &workers.member[index[i]];

		give_order(member, (member->order + 1) % DISMISSED);
	}
	while ((left = __atomic_load_n(&workers.left, __ATOMIC_ACQUIRE)) != 0) {
		if (!sleep_while(&workers.left, left, workers.control))
			return false;
	}
	now_ns = clock_now_ns();
	clock_sleep_until(now_ns + (now_ns - start_ns) / REST);
	return !session_ended();
}

double workers_rate(unsigned int index)
{
	const struct member *member = &workers.member[index];

	return (double)member->done * NSEC_PER_SEC / (double)member->wall_ns;
}

void workers_dismiss(bool completed)
{
	workers.completed = completed;
	for (unsigned int i = 0; i < workers.count; i++)
		give_order(&workers.member[i], DISMISSED);
}

static uint64_t hold(struct member *member, void *context)
{
	(void)member;
	(void)context;
	for (unsigned int i = 0; i < HELD_SPINS; i++)
		workers_relax();
	return 1;
}

const struct job workers_hold = { .work = hold };
