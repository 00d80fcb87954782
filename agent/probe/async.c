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
 * voluntary context switches tells whether it really did. What fails either is
 * counted as not_waiting.
 *
 * A sender on the receiver's CPU gives way at once (sched_yield), as threads of
 * one priority do not preempt each other: programming the timer of its own next
 * sleep first would be part of the figure.
 *
 * All pairs follow one sequence of random pauses, each with turns of its own, so
 * that none disturbs another and all meet the same machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/pause.h"
#include "core/session.h"
#include "probe/probe.h"

#define FUTEX_WAIT_PRIVATE 128 /* as in linux/futex.h, which musl does not bring */
#define FUTEX_WAKE_PRIVATE 129
#define PAIRS_MAX	   (ROLES_MAX / 2)
#define PLACE_TURNS	   4 /* so many pairs share one of their CPUs */

struct pair {
	const struct way *way;
	unsigned int turn;
	bool same_cpu;
	unsigned int sender_cpu;

	bool waiting;	   /* the receiver is about to wait; the sender takes it back */
	bool ended;	   /* nothing more is sent */
	uint64_t stamp_ns; /* of the message under way; 0: none */
	uint64_t due_ns;   /* that the sender ended at */
	uint64_t recorded;
	uint64_t missed;
	uint64_t not_waiting; /* as the sender saw */

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t word;
	int fd[2]; /* to read from, to write to */
	sem_t semaphore;
	mqd_t queue;
} __attribute__((aligned(64)));

struct way {
	const char *name;
	const char *names[2];		  /* of its series: sender on another CPU, on the same */
	int (*open)(struct pair *pair);	  /* 0 or -1 with errno */
	bool (*ready)(struct pair *pair); /* whether the receiver waits: then it must be sent to */
	void (*send)(struct pair *pair);  /* wakes a receiver for which ready() held */
	void (*end)(struct pair *pair);	  /* wakes it in any state, @ended being set; may be send */
	void (*wait)(struct pair *pair);  /* announces itself, returns when it was woken */
};

static struct pair pairs[PAIRS_MAX];

static void announce(struct pair *pair)
{
	__atomic_store_n(&pair->waiting, true, __ATOMIC_RELEASE);
}

static bool announced(struct pair *pair)
{
	return __atomic_exchange_n(&pair->waiting, false, __ATOMIC_ACQ_REL);
}

static int cond_open(struct pair *pair)
{
	pthread_mutex_init(&pair->mutex, NULL);
	pthread_cond_init(&pair->cond, NULL);
	return 0;
}

/* Announced under the mutex: who sees that while holding it sees a thread on the condition. */
static bool cond_ready(struct pair *pair)
{
	bool ready;

	pthread_mutex_lock(&pair->mutex);
	ready = announced(pair);
	pthread_mutex_unlock(&pair->mutex);
	return ready;
}

static void cond_send(struct pair *pair)
{
	pthread_cond_signal(&pair->cond);
}

static void cond_end(struct pair *pair)
{
	pthread_mutex_lock(&pair->mutex);
	pthread_cond_signal(&pair->cond);
	pthread_mutex_unlock(&pair->mutex);
}

static void cond_wait(struct pair *pair)
{
	pthread_mutex_lock(&pair->mutex);
	announce(pair);
	while (!record_get(pair->stamp_ns) && !record_get(pair->ended))
		pthread_cond_wait(&pair->cond, &pair->mutex);
	pthread_mutex_unlock(&pair->mutex);
}

static int futex_open(struct pair *pair)
{
	pair->word = 0;
	return 0;
}

static void futex_send(struct pair *pair)
{
	__atomic_store_n(&pair->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &pair->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_wait(struct pair *pair)
{
	announce(pair);
	while (!__atomic_load_n(&pair->word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &pair->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	record_set(pair->word, 0);
}

static int eventfd_open(struct pair *pair)
{
	pair->fd[0] = pair->fd[1] = eventfd(0, EFD_CLOEXEC);
	return pair->fd[0] < 0 ? -1 : 0;
}

static int pipe_open(struct pair *pair)
{
	return pipe2(pair->fd, O_CLOEXEC);
}

static void fd_send(struct pair *pair)
{
	const uint64_t one = 1;

	while (write(pair->fd[1], &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void fd_wait(struct pair *pair)
{
	uint64_t value;

	announce(pair);
	while (read(pair->fd[0], &value, sizeof(value)) < 0 && errno == EINTR)
		;
}

static int semaphore_open(struct pair *pair)
{
	return sem_init(&pair->semaphore, 0, 0);
}

static void semaphore_send(struct pair *pair)
{
	sem_post(&pair->semaphore);
}

static void semaphore_wait(struct pair *pair)
{
	announce(pair);
	while (sem_wait(&pair->semaphore) && errno == EINTR)
		;
}

static int mqueue_open(struct pair *pair)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	char name[64];

	snprintf(name, sizeof(name), "/rtscope-%d-%td", (int)getpid(), pair - pairs);
	pair->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr);
	if (pair->queue == (mqd_t)-1)
		return -1;
	mq_unlink(name);
	return 0;
}

static void mqueue_send(struct pair *pair)
{
	while (mq_send(pair->queue, "rtscope", 8, 1) && errno == EINTR)
		;
}

static void mqueue_wait(struct pair *pair)
{
	char message[8];

	announce(pair);
	while (mq_receive(pair->queue, message, sizeof(message), NULL) < 0 && errno == EINTR)
		;
}

#define WAY(way_name, open_fn, ready_fn, send_fn, end_fn, wait_fn)            \
	{ .name = way_name,                                                   \
	  .names = { way_name " from other CPU", way_name " from same CPU" }, \
	  .open = open_fn,                                                    \
	  .ready = ready_fn,                                                  \
	  .send = send_fn,                                                    \
	  .end = end_fn,                                                      \
	  .wait = wait_fn }

static const struct way ways[] = {
	WAY("cond", cond_open, cond_ready, cond_send, cond_end, cond_wait),
	WAY("futex", futex_open, announced, futex_send, futex_send, futex_wait),
	WAY("eventfd", eventfd_open, announced, fd_send, fd_send, fd_wait),
	WAY("pipe", pipe_open, announced, fd_send, fd_send, fd_wait),
	WAY("semaphore", semaphore_open, announced, semaphore_send, semaphore_send, semaphore_wait),
	WAY("mqueue", mqueue_open, announced, mqueue_send, mqueue_send, mqueue_wait),
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

enum {
	OPTION_VIA = 1,
	OPTION_PLACE,
};

static const char *const places[] = { "other", "same", "both" };

static struct {
	const char *via;
	unsigned int place;
	unsigned int turns;
	uint64_t pause_ns; /* between two turns, on average */
} async = { .via = "cond", .place = 2 };

static const struct option options[] = {
	{ "via", required_argument, NULL, OPTION_VIA },
	{ "place", required_argument, NULL, OPTION_PLACE },
	{ 0 },
};

static void set_defaults(struct session_options *session)
{
	session->priority = 89;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	if (val == OPTION_PLACE) {
		for (async.place = 0; async.place < 3; async.place++) {
			if (!strcmp(text, places[async.place]))
				return 0;
		}
		snprintf(error, error_size, "--place '%s' is not same, other or both", text);
		return -1;
	}
	async.via = text;
	for (unsigned int i = 0; i < WAYS; i++) {
		if (!strcmp(text, ways[i].name))
			return 0;
	}
	if (!strcmp(text, "all"))
		return 0;
	snprintf(error, error_size,
		 "--via '%s' is not cond, futex, eventfd, pipe, semaphore, mqueue or all", text);
	return -1;
}

static void describe(struct json *json)
{
	json_string(json, "via", async.via);
	json_string(json, "place", places[async.place]);
}

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

/* False when the turn passed unused: the receiver does not wait. */
static bool send_one(struct pair *pair)
{
	if (!pair->way->ready(pair))
		return false;
	record_set(pair->stamp_ns, clock_now_ns());
	pair->way->send(pair);
	if (pair->same_cpu)
		sched_yield();
	return true;
}

static void send_messages(struct measuring *measuring)
{
	struct pair *pair = &pairs[measuring->index / 2];
	uint64_t random = measuring->options->seed;
	uint64_t due_ns = first_turn_ns(pair, measuring->start_ns, &random);

	while (due_ns < record_get(measuring->control->until_ns) &&
	       record_get(pair->recorded) < measuring->samples) {
		if (due_ns <= clock_now_ns())
			miss(pair, NULL);
		else if (clock_sleep_until(due_ns) ||
			 record_get(pair->recorded) >= measuring->samples)
			break;
		else if (!send_one(pair))
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
		if (sleeps != before)
			record_add(record, measuring->control, stamp_ns, now_ns);
		else
			awake++;
		record_set(record->missed, record_get(pair->missed) + awake);
		record_set(pair->stamp_ns, 0);
		record_set(pair->recorded, record->count);
	}
	record_set(record->missed, record_get(pair->missed) + awake);
	measuring_goes_on(measuring, pair->due_ns);
	measuring_fact(measuring, "not_waiting", (double)(pair->not_waiting + awake));
	measuring_fact(measuring, "sender_cpu", pair->sender_cpu);
}

static bool wanted(const struct way *way)
{
	return !strcmp(async.via, "all") || !strcmp(async.via, way->name);
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

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	bool all = !strcmp(async.via, "all");
	unsigned int kinds = async.place == 2 && cpus->count > 1 ? 2 : 1;
	int count = 0, added;

	if (session->policy == POLICY_DEADLINE) {
		snprintf(error, error_size,
			 "async pins its threads, which SCHED_DEADLINE does not permit; use --policy fifo or other");
		return -1;
	}
	if (!async.place && cpus->count < 2) {
		snprintf(error, error_size,
			 "--place other needs two CPUs and --cpus gives one; add a CPU or use --place same");
		return -1;
	}
	if (2 * kinds * cpus->count * (all ? WAYS : 1) > ROLES_MAX) {
		snprintf(error, error_size,
			 "too many pairs of threads: with these --via and --place --cpus may name at most %zu",
			 ROLES_MAX / 2 / kinds / (all ? WAYS : 1));
		return -1;
	}
	for (const struct way *way = ways; way < ways + WAYS; way++) {
		if (!wanted(way))
			continue;
		added = count;
		if (async.place != 1 && cpus->count > 1)
			added = add_pairs(way, session, cpus, false, roles, added);
		if (added >= 0 && async.place != 0)
			added = add_pairs(way, session, cpus, true, roles, added);
		if (added >= 0) {
			async.turns++;
			count = added;
			continue;
		}
		snprintf(error, error_size, "--via %s is not possible here: %s%s", way->name,
			 strerror(errno),
			 way->open == mqueue_open && errno == ENOSYS ?
				 "; this kernel was built without CONFIG_POSIX_MQUEUE" :
				 "");
		if (!all)
			return -1;
		session_warn("way-left-out", error);
	}
	for (int i = 0; i < count; i++)
		roles[i].interval_ns = async.turns * session->interval_ns;
	async.turns *= PLACE_TURNS;
	async.pause_ns = session->interval_ns / PLACE_TURNS;
	return count;
}

static const struct probe probe = {
	.name = "async",
	.help = "From just before a thread signals another until that one runs, both at priority 89.\n\n"
		"      --via WAY            cond, futex, eventfd, pipe, semaphore, mqueue, or all of\n"
		"                           them, taking turns (cond)\n"
		"      --place PLACE        the sender on the same CPU as the receiver, on an other, or\n"
		"                           both as two series (both)\n",
	.examples = "  rtscope-agent async -D 1m                       as LTP's async_handler\n"
		    "  rtscope-agent async -a 2 --place same --via all -D 10m --load mixed\n",
	.options = options,
	.short_options = "",
	.defaults = set_defaults,
	.option = take_option,
	.describe = describe,
	.plan = plan,
};

int async_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
