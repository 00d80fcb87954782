// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: whether the N threads of highest priority really run on the N CPUs.
 *
 * As rt-migrate-test does it: one SCHED_FIFO thread more than there are CPUs,
 * each of another priority and free to run on any, are released together by one
 * futex wake and compute for a known time. The N highest should start at once,
 * each on a CPU of its own, and the lowest when the first of them is done. A
 * thread's latency is from the release until it runs.
 *
 * A thread's round is a violation when it waited for longer than the tolerance
 * while one of lower priority ran: the scheduler then left the wrong thread on a
 * CPU. A thread is known to have run from its start until it found in its own
 * clock that it had been kept from its CPU, or until its work was done.
 *
 * The releasing thread judges each round before it begins the next.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proc/futex.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

#define THREADS_MAX  99 /* as many as there are priorities */
#define CPUS_SHOWN   10 /* whose metrics a thread has room for */
#define PREEMPTED_NS (100 * NSEC_PER_USEC)

/* One thread's part in a round. */
struct run {
	uint64_t start_ns;
	uint64_t until_ns; /* it ran without a gap from its start to here */
	int cpu;
} __attribute__((aligned(64)));

static struct {
	uint64_t work_ns;
	uint64_t tolerance_ns;
	struct cpus cpus;
	unsigned int threads; /* highest priority first */
	uint32_t round;	      /* the futex that all wait on */
	uint32_t running;     /* threads that have not done their work of this round */
	uint64_t release_ns;
	uint64_t due_ns; /* of the next round; final once @over */
	bool over;
	struct measuring *measuring[THREADS_MAX]; /* NULL until it runs */
	struct run run[THREADS_MAX];
	uint64_t violations[THREADS_MAX];
	uint64_t ran_on[THREADS_MAX][CPUS_SHOWN + 1]; /* the last: any other CPU */
	char name[THREADS_MAX][16];
	char cpu_key[CPUS_SHOWN][16];
} migrate;

static const struct option_spec options[] = {
	{ .name = "work",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "5ms",
	  .help = "CPU time that each thread computes in a round, at most a quarter of the interval",
	  .value = &migrate.work_ns },
	{ .name = "tolerance",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "1ms",
	  .help = "Count a violation if a thread waits longer while a lower one runs",
	  .value = &migrate.tolerance_ns },
	{ 0 },
};

static const struct option_preset presets[] = { { "interval", "100ms" }, { 0 } };

static int check_options(const struct session_options *session, unsigned int cpus, char *error,
			 size_t error_size)
{
	struct schedule highest = { .policy = POLICY_FIFO, .priority = session->priority };

	if (session->policy != POLICY_FIFO || session->priority <= cpus) {
		return options_refuse(error, error_size, "policy priority cpus",
				      "%u CPUs need %u SCHED_FIFO priorities: leave --policy fifo and give a --priority from %u, or fewer --cpus",
				      cpus, cpus + 1, cpus + 1);
	}
	if (!session->dry_run && !realtime_may_enter(&highest)) {
		return options_refuse(error, error_size, "priority",
				      "SCHED_FIFO priority %u is refused to this user, and without priorities there is no order to test; run as root, or give a --priority that ulimit -r allows",
				      highest.priority);
	}
	if (migrate.tolerance_ns >= migrate.work_ns) {
		return options_refuse(error, error_size, "tolerance work",
				      "--tolerance %llu ns must be less than --work %llu ns: no thread could wait longer while another works",
				      (unsigned long long)migrate.tolerance_ns,
				      (unsigned long long)migrate.work_ns);
	}
	if (migrate.work_ns > session->interval_ns / 4) {
		return options_refuse(error, error_size, "work interval",
				      "--work %llu ns is more than a quarter of --interval %llu ns: a CPU may work twice in each round, and half of the time is the machine's",
				      (unsigned long long)migrate.work_ns,
				      (unsigned long long)session->interval_ns);
	}
	return 0;
}

static void compete(struct measuring *measuring);
static void release(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int count = 0;

	if (check_options(session, cpus->count, error, error_size))
		return -1;
	migrate.cpus = *cpus;
	migrate.threads = cpus->count + 1;
	for (unsigned int i = 0; i < CPUS_SHOWN && i < cpus->count; i++)
		snprintf(migrate.cpu_key[i], sizeof(migrate.cpu_key[i]), "cpu%u", cpus->number[i]);
	for (; count < migrate.threads; count++) {
		snprintf(migrate.name[count], sizeof(migrate.name[count]), "rank %u", count + 1);
		roles[count] = (struct role){
			.name = migrate.name[count],
			.body = compete,
			.cpu = -1,
			.priority = session->priority - count,
			.interval_ns = session->interval_ns,
		};
	}
	roles[count++] = (struct role){
		.name = "release",
		.body = release,
		.cpu = -1,
		.priority = session->priority,
		.interval_ns = session->interval_ns,
		.silent = true,
	};
	return (int)count;
}

static int stay_on_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned int i = 0; i < migrate.cpus.count; i++)
		CPU_SET(migrate.cpus.number[i], &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* Work, and find by the clock when this thread first lost its CPU. */
static void work(struct run *run)
{
	uint64_t end_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + migrate.work_ns;
	bool preempted = false;

	run->until_ns = run->start_ns;
	while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
		uint64_t now_ns = clock_now_ns();

		preempted |= now_ns - run->until_ns > PREEMPTED_NS;
		if (!preempted)
			run->until_ns = now_ns;
	}
}

static unsigned int place_of(int cpu)
{
	unsigned int place = 0;

	while (place < CPUS_SHOWN && place < migrate.cpus.count &&
	       migrate.cpus.number[place] != cpu)
		place++;
	return place < migrate.cpus.count ? place : CPUS_SHOWN;
}

/* False when measuring has ended. */
static bool wait_for_release(struct measuring *measuring, uint32_t before)
{
	while (__atomic_load_n(&migrate.round, __ATOMIC_ACQUIRE) == before) {
		futex_sleep(&migrate.round, before);
		if (!record_get(measuring->control->until_ns))
			return false;
	}
	return true;
}

static void compete(struct measuring *measuring)
{
	unsigned int rank = measuring->index;
	struct run *run = &migrate.run[rank];
	uint32_t round = 0;

	migrate.measuring[rank] = measuring;
	if (stay_on_cpus()) {
		measuring->error = errno;
		return;
	}
	while (wait_for_release(measuring, round)) {
		run->start_ns = clock_now_ns();
		round = __atomic_load_n(&migrate.round, __ATOMIC_ACQUIRE);
		if (migrate.over) {
			measuring_goes_on(measuring, migrate.due_ns);
			break;
		}
		run->cpu = sched_getcpu();
		measuring->record.cpu = run->cpu;
		record_add(&measuring->record, migrate.release_ns, run->start_ns);
		work(run);
		__atomic_fetch_sub(&migrate.running, 1, __ATOMIC_RELEASE);
		if (measuring->record.threshold_reached)
			break;
	}
}

/* How long @lower is known to have run while @higher waited. */
static uint64_t overtaken_ns(const struct run *higher, const struct run *lower)
{
	uint64_t end_ns = lower->until_ns < higher->start_ns ? lower->until_ns : higher->start_ns;

	return end_ns > lower->start_ns ? end_ns - lower->start_ns : 0;
}

/* Whether a thread of lower priority than @rank ran for too long while it waited. */
static bool violated(const struct run *run, unsigned int rank, unsigned int threads,
		     uint64_t tolerance_ns)
{
	for (unsigned int lower = rank + 1; lower < threads; lower++) {
		if (overtaken_ns(&run[rank], &run[lower]) > tolerance_ns)
			return true;
	}
	return false;
}

static void judge_round(void)
{
	for (unsigned int rank = 0; rank < migrate.threads; rank++) {
		migrate.violations[rank] +=
			violated(migrate.run, rank, migrate.threads, migrate.tolerance_ns);
		migrate.ran_on[rank][place_of(migrate.run[rank].cpu)]++;
	}
}

static void wake_all(void)
{
	__atomic_fetch_add(&migrate.round, 1, __ATOMIC_RELEASE);
	futex_wake_all(&migrate.round);
}

static void release_round(void)
{
	migrate.running = migrate.threads;
	migrate.release_ns = clock_now_ns();
	wake_all();
}

static void report(struct measuring *measuring, unsigned int rank, uint64_t rounds)
{
	measuring_metric(measuring, "rounds", (double)rounds);
	measuring_metric(measuring, "violations", (double)migrate.violations[rank]);
	for (unsigned int i = 0; i < CPUS_SHOWN && i < migrate.cpus.count; i++)
		measuring_metric(measuring, migrate.cpu_key[i], (double)migrate.ran_on[rank][i]);
	if (migrate.cpus.count > CPUS_SHOWN)
		measuring_metric(measuring, "other_cpus", (double)migrate.ran_on[rank][CPUS_SHOWN]);
}

/* Judge the round that is over. False while one still runs. */
static bool settle(void)
{
	if (__atomic_load_n(&migrate.running, __ATOMIC_ACQUIRE))
		return false;
	judge_round();
	return true;
}

static void count_missed(void)
{
	for (unsigned int rank = 0; rank < migrate.threads; rank++) {
		struct measuring *measuring = migrate.measuring[rank];

		if (measuring)
			record_set(measuring->record.missed, measuring->record.missed + 1);
	}
}

/* Release a round each interval; returns how many were judged. */
static uint64_t release_rounds(struct measuring *measuring)
{
	uint64_t due_ns = measuring->start_ns, released = 0, judged = 0;

	while (released < measuring->samples && measuring_goes_on(measuring, due_ns) &&
	       !clock_sleep_until(due_ns)) {
		due_ns += measuring->role.interval_ns;
		if (released > judged && !settle()) {
			count_missed();
			continue;
		}
		judged = released++;
		release_round();
	}
	migrate.due_ns = due_ns;
	while (judged < released && record_get(measuring->control->until_ns)) {
		clock_sleep_until(clock_now_ns() + NSEC_PER_MSEC);
		judged += settle();
	}
	return judged;
}

static void release(struct measuring *measuring)
{
	uint64_t rounds = release_rounds(measuring);

	migrate.over = true;
	wake_all();
	for (unsigned int rank = 0; rank < migrate.threads; rank++) {
		if (migrate.measuring[rank])
			report(migrate.measuring[rank], rank, rounds);
	}
}

static const char *const metrics[] = { "rounds", "violations", "cpuN", "other_cpus", NULL };

const struct probe migrate_probe = {
	.name = "migrate",
	.summary = "whether the N threads of highest priority run on the N CPUs",
	.help = "Whether the N threads of highest priority run on the N CPUs. One thread more than there are CPUs,\n"
		"of descending priorities and not pinned, are released together and compute; each is measured from\n"
		"the release until it runs. A round in which a thread waited while one of lower priority ran counts\n"
		"as a violation.\n",
	.examples = "  rtscope-agent migrate -D 30s                   as rt-migrate-test\n"
		    "  rtscope-agent migrate -a 2-5 -p 90 --tolerance 100us -l 1000\n",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
};
