// SPDX-License-Identifier: GPL-2.0-only
/*
 * async: from just before one thread signals another until that one runs.
 *
 * A pair of threads of equal priority: the sender sleeps, reads the clock and
 * sends; the receiver reads the clock as soon as its wait returns. What is sent
 * with is any of the ways that programs use. LTP's async_handler measures the
 * condition variable so.
 *
 * A latency counts only if the receiver slept in the kernel. It says that it is
 * about to wait, which the sender looks at first; and afterwards its count of
 * voluntary context switches shows whether it really did. What fails either is
 * counted as not_waiting.
 *
 * A sender on the receiver's CPU gives way at once (sched_yield), as threads of
 * one priority do not preempt each other: programming the timer of its own next
 * sleep first would be part of the metric.
 *
 * The first message after a pause finds cold caches, as an event in a control
 * loop does. Tests that answer each message with another, as those of rt-tests,
 * measure warm ones; --cache warm sends a message before each that counts.
 *
 * All pairs follow one sequence of random pauses, each with turns of its own, so
 * that none disturbs another and all meet the same machine.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/pause.h"
#include "probe/async_ways.h"
#include "probe/probe.h"
#include "session/session.h"

#define PAIRS_MAX   (ROLES_MAX / 2)
#define PLACE_TURNS 4 /* so many pairs share one of their CPUs */
#define WARM_UP	    1 /* instead of a stamp: this message does not count */
#define SETTLE_NS   (50 * NSEC_PER_USEC)

static struct pair pairs[PAIRS_MAX];

enum place {
	PLACE_OTHER,
	PLACE_SAME,
	PLACE_BOTH,
};

static const char *const places[] = { "other", "same", "both", NULL };

static struct {
	unsigned int via; /* an index into async_way_names */
	enum place place;
	bool warm;
	unsigned int turns;
	uint64_t pause_ns; /* between two turns, on average */
} async;

static const char *const caches[] = { "cold", "warm", NULL };

static const struct option_spec options[] = {
	{ .name = "via",
	  .kind = OPTION_CHOICE,
	  .choices = async_way_names,
	  .metavar = "METHOD",
	  .preset = "cond",
	  .help = "Notify by this method, or by all of them in turn",
	  .value = &async.via },
	{ .name = "place",
	  .kind = OPTION_CHOICE,
	  .choices = places,
	  .metavar = "PLACE",
	  .preset = "both",
	  .help = "CPU of the sender: the receiver's, another, or both as two series",
	  .value = &async.place },
	{ .name = "cache",
	  .kind = OPTION_EITHER,
	  .choices = caches,
	  .metavar = "STATE",
	  .preset = "cold",
	  .help = "cold: notify after a pause; warm: right after a notification that does not count, "
		  "as rt-tests does",
	  .value = &async.warm },
	{ 0 },
};

static const struct option_preset presets[] = { { "priority", "89" }, { 0 } };

/* The next of this pair's own turns after @due_ns. */
static uint64_t next_turn_ns(uint64_t due_ns, uint64_t *random)
{
	for (unsigned int i = 0; i < async.turns; i++)
		due_ns += pause_next_ns(random, async.pause_ns);
	return due_ns;
}

static uint64_t first_turn_ns(const struct pair *pair, uint64_t start_ns, uint64_t *random)
{
	for (unsigned int i = 0; i <= pair->turn; i++)
		start_ns += pause_next_ns(random, async.pause_ns);
	return start_ns;
}

static void miss(struct pair *pair, uint64_t *reason)
{
	if (reason)
		record_set(*reason, *reason + 1);
	record_set(pair->missed, pair->missed + 1);
}

/* False when the receiver does not wait: then nothing is sent. */
static bool send_one(struct pair *pair, uint64_t stamp_ns)
{
	if (!pair->way->ready(pair))
		return false;
	record_set(pair->stamp_ns, stamp_ns ? stamp_ns : clock_now_ns());
	pair->way->send(pair);
	if (pair->same_cpu)
		sched_yield();
	return true;
}

static bool warm_up(struct pair *pair)
{
	if (!send_one(pair, WARM_UP))
		return false;
	return pair->same_cpu || !clock_sleep_until(clock_now_ns() + SETTLE_NS);
}

static void send_messages(struct measuring *measuring)
{
	struct pair *pair = &pairs[measuring->index / 2];
	uint64_t random = measuring->options->seed;
	uint64_t due_ns = first_turn_ns(pair, measuring->start_ns, &random);

	while (measuring_goes_on(measuring, due_ns) &&
	       record_get(pair->recorded) < measuring->samples) {
		if (due_ns <= clock_now_ns())
			miss(pair, NULL);
		else if (clock_sleep_until(due_ns) ||
			 record_get(pair->recorded) >= measuring->samples)
			break;
		else if ((async.warm && !warm_up(pair)) || !send_one(pair, 0))
			miss(pair, &pair->not_waiting);
		due_ns = next_turn_ns(due_ns, &random);
	}
	pair->due_ns = due_ns;
	__atomic_store_n(&pair->ended, true, __ATOMIC_RELEASE);
	pair->way->end(pair);
}

static long sleeps_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void receive_messages(struct measuring *measuring)
{
	struct pair *pair = &pairs[measuring->index / 2];
	struct record *record = &measuring->record;
	long sleeps = sleeps_so_far(), before;
	uint64_t awake = 0, now_ns, stamp_ns;

	while (!__atomic_load_n(&pair->ended, __ATOMIC_ACQUIRE) && !record->threshold_reached) {
		pair->way->wait(pair);
		now_ns = clock_now_ns();
		stamp_ns = record_get(pair->stamp_ns);
		if (!stamp_ns)
			continue;
		before = sleeps;
		sleeps = sleeps_so_far();
		if (sleeps == before)
			awake += stamp_ns != WARM_UP;
		else if (stamp_ns != WARM_UP)
			record_add(record, stamp_ns, now_ns);
		record_set(record->missed, record_get(pair->missed) + awake);
		record_set(pair->stamp_ns, 0);
		record_set(pair->recorded, record->count);
	}
	record_set(record->missed, record_get(pair->missed) + awake);
	measuring_goes_on(measuring, pair->due_ns);
	measuring_metric(measuring, "not_waiting", (double)(pair->not_waiting + awake));
	measuring_metric(measuring, "sender_cpu", pair->sender_cpu);
}

static bool wanted(const struct way *way)
{
	return async.via == WAYS || way == &async_ways[async.via];
}

/* Two neighbours send to each other; the last of an odd number hears from the one before it. */
static unsigned int other_cpu(const struct cpus *cpus, unsigned int i)
{
	return cpus->number[(i ^ 1) < cpus->count ? i ^ 1 : i - 1];
}

/* The pair's turn among those that share a CPU with it. */
static unsigned int place_turn(const struct cpus *cpus, unsigned int i, bool same)
{
	if (same)
		return 0;
	return i + 1 == cpus->count && !(i & 1) ? 3 : 1 + (i & 1);
}

static int add_pairs(const struct way *way, const struct session_options *session,
		     const struct cpus *cpus, bool same, struct role *roles, int count)
{
	for (unsigned int i = 0; i < cpus->count; i++) {
		struct pair *pair = &pairs[count / 2];

		*pair = (struct pair){
			.way = way,
			.turn = async.turns * PLACE_TURNS + place_turn(cpus, i, same),
			.same_cpu = same,
			.sender_cpu = same ? cpus->number[i] : other_cpu(cpus, i),
		};
		if (way->open(pair))
			return -1;
		roles[count++] = (struct role){
			.name = "",
			.body = send_messages,
			.cpu = (int)pair->sender_cpu,
			.priority = session->priority,
			.silent = true,
		};
		roles[count++] = (struct role){
			.name = way->names[same],
			.body = receive_messages,
			.cpu = cpus->number[i],
			.priority = session->priority,
		};
	}
	return count;
}

/* 0, or -1 with a sentence in @error where these threads cannot be had. */
static int check_plan(const struct session_options *session, const struct cpus *cpus, char *error,
		      size_t error_size)
{
	unsigned int series = async.place == PLACE_BOTH && cpus->count > 1 ? 2 : 1;
	unsigned int cpus_max = PAIRS_MAX / series / (async.via == WAYS ? WAYS : 1);

	if (session->policy == POLICY_DEADLINE)
		options_refuse(error, error_size, "policy",
			       "async pins its threads, which SCHED_DEADLINE does not permit; use --policy fifo or other");
	else if (async.place == PLACE_OTHER && cpus->count < 2)
		options_refuse(error, error_size, "place cpus",
			       "--place other needs two CPUs and --cpus gives one; add a CPU or use --place same");
	else if (cpus->count > cpus_max)
		options_refuse(error, error_size, "via place cpus",
			       "too many pairs of threads: with these --via and --place --cpus may name at most %u CPUs",
			       cpus_max);
	else
		return 0;
	return -1;
}

static int add_way(const struct way *way, const struct session_options *session,
		   const struct cpus *cpus, struct role *roles, int count)
{
	if (async.place != PLACE_SAME && cpus->count > 1)
		count = add_pairs(way, session, cpus, false, roles, count);
	if (async.place != PLACE_OTHER && count >= 0)
		count = add_pairs(way, session, cpus, true, roles, count);
	return count;
}

static void report_refusal(const struct way *way, char *error, size_t error_size)
{
	int number = errno;

	options_refuse(error, error_size, "via", "--via %s is not possible here: %s%s%s",
		       async_way_names[way - async_ways], strerror(number),
		       number == ENOSYS ? "; this kernel was built without CONFIG_" :
		       number == EMFILE ? "; raise " :
					  "",
		       number == ENOSYS ? way->kernel_option :
		       number == EMFILE ? way->limit :
					  "");
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	int count = 0, added;

	if (check_plan(session, cpus, error, error_size))
		return -1;
	for (const struct way *way = async_ways; way < async_ways + WAYS; way++) {
		if (!wanted(way))
			continue;
		added = add_way(way, session, cpus, roles, count);
		if (added >= 0) {
			async.turns++;
			count = added;
			continue;
		}
		report_refusal(way, error, error_size);
		if (async.via != WAYS)
			return -1;
		session_warn("way-left-out", error);
	}
	for (int i = 0; i < count; i++)
		roles[i].interval_ns = async.turns * session->interval_ns;
	async.turns *= PLACE_TURNS;
	async.pause_ns = session->interval_ns / PLACE_TURNS;
	return count;
}

static const char *const metrics[] = { "not_waiting", "sender_cpu", NULL };

const struct probe async_probe = {
	.name = "async",
	.summary = "from notifying a thread until it runs",
	.help = "Notification latency between threads: from just before one thread notifies another until that one\n"
		"runs, both at the same priority.\n",
	.examples = "  rtscope-agent async -D 1m                       as LTP's async_handler\n"
		    "  rtscope-agent async -a 2 --place same --via all -D 10m --load mixed\n",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
};
