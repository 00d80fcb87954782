// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measuring threads of a session: made, set up and held until all are
 * ready, let go together, and ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/threads.h"

#define STACK_TOUCHED	(16 * 1024)
#define LEASE_GRACE_NS	(500 * NSEC_PER_MSEC)
#define LEASE_LOOK_NS	(5 * NSEC_PER_MSEC)
#define OFFLINE_POLL_NS (10 * NSEC_PER_MSEC)
#define OFFLINE_POLLS	100
#define SIGNAL_WAKE	SIGUSR1 /* ends a measuring thread's sleep */

static pthread_barrier_t ready, go;
static pthread_t housekeeping;
static const char *probe_name;

static __attribute__((noinline)) void touch_stack(void)
{
	volatile char stack[STACK_TOUCHED];

	for (size_t i = 0; i < sizeof(stack); i += 1024)
		stack[i] = 0;
}

static int set_up_thread(struct measuring *measuring)
{
	char name[16];

	measuring->tid = (int)syscall(SYS_gettid);
	snprintf(name, sizeof(name), "%s/%u", probe_name, measuring->index);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK,
	      1); /* else an ordinary thread may be woken 50 us late on purpose */
	if (measuring->role.cpu < 0)
		cpus_unpin();
	else if (cpus_pin((unsigned int)measuring->role.cpu))
		return errno;
	if (realtime_enter(&measuring->schedule))
		return errno;
	touch_stack();
	return 0;
}

static bool cpu_is_online(unsigned int cpu)
{
	cpu_set_t online;

	cpus_online(&online);
	return CPU_ISSET(cpu, &online);
}

/*
 * The affinity is what the kernel widens when it takes the CPU offline. To ask for the current CPU
 * with each sample is a system call on most architectures.
 */
bool thread_moved(const struct measuring *measuring)
{
	cpu_set_t allowed;
	int cpu = measuring->role.cpu;

	return cpu >= 0 && !sched_getaffinity(measuring->tid, sizeof(allowed), &allowed) &&
	       (CPU_COUNT(&allowed) != 1 || !CPU_ISSET((unsigned int)cpu, &allowed));
}

/* The kernel moves the threads of a CPU that goes offline before it reports the CPU as offline. */
const char *thread_moved_why(const struct measuring *measuring)
{
	const struct timespec wait = ns_to_timespec(OFFLINE_POLL_NS);

	for (unsigned int polls = 0; polls < OFFLINE_POLLS; polls++) {
		if (!cpu_is_online((unsigned int)measuring->role.cpu))
			return "its CPU went offline, so the kernel moved it to another";
		nanosleep(&wait, NULL);
	}
	return "its CPU affinity was changed while it measured";
}

static void *measuring_thread(void *argument)
{
	struct measuring *measuring = argument;

	measuring->error = set_up_thread(measuring);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	if (!measuring->error) {
		measuring->role.body(measuring);
		measuring->moved = thread_moved(measuring);
	}
	measuring->ended_ns = clock_now_ns();
	__atomic_store_n(&measuring->done, true, __ATOMIC_RELEASE);
	pthread_kill(housekeeping, SIGNAL_DONE);
	return NULL;
}

/*
 * A pause of the whole machine, or of this program, lets a lease run out though nobody starves:
 * sleeping a moment gives the housekeeping thread its chance to renew it.
 */
bool measuring_lease_renewed(struct measuring *measuring, uint64_t due_ns)
{
	const struct timespec look = ns_to_timespec(LEASE_LOOK_NS);
	uint64_t give_up_ns = clock_now_ns() + LEASE_GRACE_NS;

	measuring->completed = due_ns >= measuring->end_ns ||
			       record_get(measuring->record.count) >= measuring->samples;
	while (!measuring->completed && record_get(measuring->control->until_ns) &&
	       clock_now_ns() < give_up_ns) {
		if (due_ns < record_get(measuring->control->until_ns)) {
			record_set(measuring->record.resumed_ns, clock_now_ns());
			return true;
		}
		nanosleep(&look, NULL);
	}
	return false;
}

static void wake(int number)
{
	(void)number;
}

static struct schedule schedule_of(const struct session *session, const struct role *role,
				   const struct schedule *allowed)
{
	struct schedule schedule = *allowed;

	schedule.period_ns = role->interval_ns;
	if (!role->priority)
		return (struct schedule){ .policy = POLICY_OTHER };
	if (schedule.policy == POLICY_FIFO)
		schedule.priority = role->priority < allowed->priority ||
						    allowed->priority == session->options.priority ?
					    role->priority :
					    allowed->priority;
	return schedule;
}

static int create_thread(struct session *session, struct measuring *measuring,
			 const pthread_attr_t *attributes, bool every_sample)
{
	const struct session_options *options = &session->options;

	measuring->samples = options->samples ? options->samples : UINT64_MAX;
	if (!measuring->role.silent &&
	    record_init(&measuring->record, options->worst,
			options->threshold_ns ? options->threshold_ns : UINT64_MAX, every_sample))
		return ENOMEM;
	return pthread_create(&measuring->thread, attributes, measuring_thread, measuring);
}

static int check_threads(const struct session *session, char *error, size_t error_size)
{
	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];
		enum policy policy = measuring->schedule.policy;

		if (!measuring->error)
			continue;
		snprintf(error, error_size, "cannot give thread %u CPU %d and policy %s: %s%s", i,
			 measuring->role.cpu, policy_names[policy], strerror(measuring->error),
			 policy == POLICY_DEADLINE ?
				 "; SCHED_DEADLINE wants an interval of at least /proc/sys/kernel/sched_deadline_period_min_us and all CPUs" :
				 "");
		return -1;
	}
	return 0;
}

int threads_plan(struct session *session, warn_fn *warn, char *error, size_t error_size)
{
	const struct session_options *options = &session->options;
	struct schedule allowed = realtime_allowed(
		(struct schedule){
			.policy = options->policy,
			.priority = options->policy == POLICY_FIFO ? options->priority : 0,
			.period_ns = options->interval_ns,
		},
		warn);
	struct role *roles = calloc(ROLES_MAX, sizeof(*roles));
	int count = -1;

	if (roles)
		count = session->probe->plan(options, &session->cpus, roles, error, error_size);
	if (count >= 0)
		session->measuring = calloc((size_t)count, sizeof(*session->measuring));
	if (!roles || (count >= 0 && !session->measuring)) {
		snprintf(error, error_size, "out of memory");
		count = -1;
	}
	for (int i = 0; i < count; i++) {
		session->measuring[i].index = (unsigned int)i;
		session->measuring[i].options = options;
		session->measuring[i].control = &session->control;
		session->measuring[i].role = roles[i];
		session->measuring[i].schedule = schedule_of(session, &roles[i], &allowed);
		if (session->measuring[i].schedule.policy == POLICY_DEADLINE)
			session->measuring[i].role.cpu = -1;
		session->rows += !roles[i].silent;
	}
	if (allowed.policy == POLICY_DEADLINE)
		warn("not-pinned",
		     "SCHED_DEADLINE threads cannot be pinned to a CPU: a figure belongs to a thread, not to a CPU");
	session->threads = count < 0 ? 0 : (unsigned int)count;
	free(roles);
	return count < 0 ? -1 : 0;
}

int threads_start(struct session *session, bool every_sample, char *error, size_t error_size)
{
	struct sigaction action = { .sa_handler = wake }; /* no SA_RESTART: sleeps end */
	pthread_attr_t attributes;
	int result = 0;

	housekeeping = pthread_self();
	probe_name = session->probe->name;
	sigaction(SIGNAL_WAKE, &action, NULL);
	pthread_barrier_init(&ready, NULL, session->threads + 1);
	pthread_barrier_init(&go, NULL, session->threads + 1);
	pthread_attr_init(&attributes);
	result = pthread_attr_setstacksize(&attributes, realtime_stack_size());
	for (unsigned int i = 0; i < session->threads && !result; i++)
		result = create_thread(session, &session->measuring[i], &attributes, every_sample);
	if (result) {
		snprintf(error, error_size, "cannot start %u measuring threads: %s",
			 session->threads, strerror(result));
		return -1;
	}
	pthread_barrier_wait(&ready);
	return check_threads(session, error, error_size);
}

static void add_cpu(struct cpus *cpus, int cpu)
{
	if (cpu >= 0 && cpus->count < CPUS_MAX)
		cpus->number[cpus->count++] = (uint16_t)cpu;
}

void threads_avoid(const struct session *session)
{
	struct cpus spinning = { 0 }, busy = session->cpus;

	for (unsigned int i = 0; i < session->threads; i++) {
		if (!session->measuring[i].role.spins)
			continue;
		add_cpu(&spinning, session->measuring[i].role.cpu);
		add_cpu(&busy, session->measuring[i].role.cpu);
	}
	if (!cpus_avoid(&session->usable, &busy) && spinning.count)
		cpus_avoid(&session->usable, &spinning);
}

uint64_t threads_longest_interval_ns(const struct session *session)
{
	uint64_t longest_ns = 0;

	for (unsigned int i = 0; i < session->threads; i++) {
		if (session->measuring[i].role.interval_ns > longest_ns)
			longest_ns = session->measuring[i].role.interval_ns;
	}
	return longest_ns;
}

uint64_t threads_ended_ns(const struct session *session)
{
	uint64_t ended_ns = 0;

	for (unsigned int i = 0; i < session->threads; i++) {
		if (!session->measuring[i].role.silent && session->measuring[i].ended_ns > ended_ns)
			ended_ns = session->measuring[i].ended_ns;
	}
	return ended_ns;
}

void threads_go(void)
{
	pthread_barrier_wait(&go);
}

void threads_end(struct session *session)
{
	static const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };

	record_set(session->control.until_ns, 0);
	for (unsigned int i = 0; i < session->threads; i++) {
		struct measuring *measuring = &session->measuring[i];

		while (!__atomic_load_n(&measuring->done, __ATOMIC_ACQUIRE)) {
			pthread_kill(measuring->thread, SIGNAL_WAKE);
			nanosleep(&pause, NULL);
		}
		pthread_join(measuring->thread, NULL);
	}
}
