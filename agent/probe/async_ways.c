// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ways in which one thread wakes another.
 *
 * Each receiver announces that it is about to wait, and the sender, which acts
 * only on an announcement, takes it back: so at most one message is under way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proc/futex.h"
#include "probe/async_ways.h"
#include "session/record.h"

static void announce(struct pair *pair)
{
	__atomic_store_n(&pair->waiting, 1, __ATOMIC_RELEASE);
}

static bool announced(struct pair *pair)
{
	return __atomic_exchange_n(&pair->waiting, 0, __ATOMIC_ACQ_REL);
}

static int cond_open(struct pair *pair)
{
	pthread_mutex_init(&pair->mutex, NULL);
	pthread_cond_init(&pair->cond, NULL);
	return 0;
}

/* Set under the mutex: a sender that reads it with the mutex held finds a thread on the condition. */
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
	futex_wake_one(&pair->word);
}

static void futex_wait(struct pair *pair)
{
	announce(pair);
	while (!__atomic_load_n(&pair->word, __ATOMIC_ACQUIRE))
		futex_sleep(&pair->word, 0);
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
	char name[32];

	snprintf(name, sizeof(name), "/rtscope-%d", (int)getpid());
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

#define WAY(way_name, option, limit_name, open_fn, ready_fn, send_fn, end_fn, wait_fn) \
	{                                                                              \
		.names = { way_name " from other CPU", way_name " from same CPU" },    \
		.kernel_option = option,                                               \
		.limit = limit_name,                                                   \
		.open = open_fn,                                                       \
		.ready = ready_fn,                                                     \
		.send = send_fn,                                                       \
		.end = end_fn,                                                         \
		.wait = wait_fn,                                                       \
	}

const struct way async_ways[WAYS] = {
	WAY("cond", "FUTEX", "ulimit -n", cond_open, cond_ready, cond_send, cond_end, cond_wait),
	WAY("futex", "FUTEX", "ulimit -n", futex_open, announced, futex_send, futex_send,
	    futex_wait),
	WAY("eventfd", "EVENTFD", "ulimit -n", eventfd_open, announced, fd_send, fd_send, fd_wait),
	WAY("pipe", "", "ulimit -n", pipe_open, announced, fd_send, fd_send, fd_wait),
	WAY("semaphore", "FUTEX", "ulimit -n", semaphore_open, announced, semaphore_send,
	    semaphore_send, semaphore_wait),
	WAY("mqueue", "POSIX_MQUEUE", "ulimit -q", mqueue_open, announced, mqueue_send, mqueue_send,
	    mqueue_wait),
};

const char *const async_way_names[] = {
	"cond", "futex", "eventfd", "pipe", "semaphore", "mqueue", "all", NULL,
};
