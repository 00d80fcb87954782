// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/outlet.h"
#include "proc/realtime.h"

/*
 * A serial port whose buffer never runs empty keeps its interrupt's thread in one call of the
 * driver. After 100,000 interrupts of such a call, the kernel takes them for spurious and disables
 * the line (note_interrupt() in kernel/irq/spurious.c). So a terminal gets little at once, and the
 * next part after that was sent. SIGTTOU is blocked here.
 */
#define TERMINAL_WRITE_MAX 512

static bool write_all(int fd, const struct outlet_bytes *bytes)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	bool terminal = isatty(fd);
	size_t most = terminal ? TERMINAL_WRITE_MAX : SIZE_MAX;
	size_t done = 0;

	while (done < bytes->used) {
		size_t left = bytes->used - done;
		ssize_t written = write(fd, bytes->data + done, left < most ? left : most);

		if (written > 0 && terminal)
			tcdrain(fd);
		if (written >= 0)
			done += (size_t)written;
		else if (errno == EAGAIN)
			poll(&room, 1, -1); /* somebody else has set O_NONBLOCK */
		else if (errno != EINTR)
			return false;
	}
	return true;
}

/* Take the whole queue. No line in it is incomplete. */
static void take_queue(struct outlet *outlet)
{
	struct outlet_bytes empty = outlet->leaving;

	outlet->leaving = outlet->queue;
	outlet->queue = empty;
	outlet->whole = 0;
}

static void *writer_thread(void *argument)
{
	struct outlet *outlet = argument;
	bool written;

	prctl(PR_SET_NAME, "output");
	pthread_mutex_lock(&outlet->lock);
	for (;;) {
		while (!outlet->ending && (!outlet->whole || outlet->whole < outlet->queue.used))
			pthread_cond_wait(&outlet->changed, &outlet->lock);
		if (outlet->ending)
			break;
		take_queue(outlet);
		outlet->busy = true;
		pthread_mutex_unlock(&outlet->lock);
		written = outlet->failed || write_all(outlet->fd, &outlet->leaving);
		pthread_mutex_lock(&outlet->lock);
		outlet->failed |= !written;
		outlet->leaving.used = 0;
		outlet->busy = false;
		pthread_cond_broadcast(&outlet->changed);
	}
	pthread_mutex_unlock(&outlet->lock);
	return NULL;
}

static bool allocate(struct outlet_bytes *bytes, size_t size)
{
	*bytes = (struct outlet_bytes){ .data = malloc(size), .size = size };
	return bytes->data;
}

/* The writer takes no signal: those of the process are for the caller. */
static int start_writer(struct outlet *outlet)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, realtime_stack_size());
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&outlet->writer, &attributes, writer_thread, outlet);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static void sink_put(struct json_sink *sink, const char *bytes, size_t size)
{
	outlet_put((struct outlet *)sink, bytes, size);
}

static bool sink_end_line(struct json_sink *sink)
{
	struct outlet *outlet = (struct outlet *)sink;

	return outlet_end_line(outlet) || !outlet_failed(outlet);
}

int outlet_open(struct outlet *outlet, int fd, size_t size)
{
	pthread_condattr_t monotonic;
	int error = ENOMEM;

	*outlet = (struct outlet){
		.sink = { .put = sink_put, .end_line = sink_end_line },
		.fd = fd,
		.limit = OUTLET_NO_LIMIT,
	};
	pthread_mutex_init(&outlet->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&outlet->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (allocate(&outlet->queue, size) && allocate(&outlet->leaving, size))
		error = start_writer(outlet);
	outlet->open = !error;
	if (error) {
		free(outlet->queue.data);
		free(outlet->leaving.data);
	}
	return error;
}

void outlet_follow(struct outlet *outlet)
{
	cpu_set_t own;

	if (!sched_getaffinity(0, sizeof(own), &own))
		pthread_setaffinity_np(outlet->writer, sizeof(own), &own);
}

void outlet_set_limit(struct outlet *outlet, size_t limit)
{
	pthread_mutex_lock(&outlet->lock);
	outlet->limit = limit;
	pthread_mutex_unlock(&outlet->lock);
}

static bool make_room(struct outlet *outlet, size_t size)
{
	struct outlet_bytes *queue = &outlet->queue;
	size_t wanted = queue->used + size;
	char *data;

	if (wanted > outlet->limit)
		return false;
	if (wanted <= queue->size)
		return true;
	wanted *= 2;
	data = realloc(queue->data, wanted);
	if (!data)
		return false;
	queue->data = data;
	queue->size = wanted;
	return true;
}

/* Let the writer take the queue with the unfinished line at its end. */
static void wait_for_room(struct outlet *outlet)
{
	outlet->whole = outlet->queue.used;
	pthread_cond_broadcast(&outlet->changed);
	while (outlet->queue.used && !outlet->failed)
		pthread_cond_wait(&outlet->changed, &outlet->lock);
}

void outlet_put(struct outlet *outlet, const char *bytes, size_t size)
{
	pthread_mutex_lock(&outlet->lock);
	while (!outlet->failed && !outlet->cut && !make_room(outlet, size)) {
		if (outlet->limit == OUTLET_NO_LIMIT && outlet->queue.used)
			wait_for_room(outlet);
		else
			outlet->cut = true;
	}
	if (!outlet->failed && !outlet->cut) {
		memcpy(outlet->queue.data + outlet->queue.used, bytes, size);
		outlet->queue.used += size;
	}
	pthread_mutex_unlock(&outlet->lock);
}

bool outlet_end_line(struct outlet *outlet)
{
	bool kept;

	pthread_mutex_lock(&outlet->lock);
	kept = !outlet->cut && !outlet->failed;
	if (outlet->failed)
		outlet->queue.used = outlet->whole = 0;
	else if (outlet->cut)
		outlet->queue.used = outlet->whole;
	else
		outlet->whole = outlet->queue.used;
	outlet->cut = false;
	pthread_cond_broadcast(&outlet->changed);
	pthread_mutex_unlock(&outlet->lock);
	return kept;
}

static ssize_t put_from_stream(void *cookie, const char *bytes, size_t size)
{
	outlet_put(cookie, bytes, size);
	return (ssize_t)size;
}

FILE *outlet_stream(struct outlet *outlet)
{
	return fopencookie(outlet, "w", (cookie_io_functions_t){ .write = put_from_stream });
}

static bool is_idle(const struct outlet *outlet)
{
	return !outlet->busy && !outlet->queue.used;
}

bool outlet_is_idle(struct outlet *outlet)
{
	return outlet_wait(outlet, 0);
}

size_t outlet_waiting(struct outlet *outlet)
{
	size_t waiting;

	pthread_mutex_lock(&outlet->lock);
	waiting = outlet->queue.used;
	pthread_mutex_unlock(&outlet->lock);
	return waiting;
}

bool outlet_failed(struct outlet *outlet)
{
	bool failed;

	pthread_mutex_lock(&outlet->lock);
	failed = outlet->failed;
	pthread_mutex_unlock(&outlet->lock);
	return failed;
}

bool outlet_wait(struct outlet *outlet, uint64_t until_ns)
{
	const struct timespec until = ns_to_timespec(until_ns);
	bool done;

	pthread_mutex_lock(&outlet->lock);
	while (!is_idle(outlet) && !outlet->failed && clock_now_ns() < until_ns)
		pthread_cond_timedwait(&outlet->changed, &outlet->lock, &until);
	done = is_idle(outlet) || outlet->failed;
	pthread_mutex_unlock(&outlet->lock);
	return done;
}

void outlet_close(struct outlet *outlet)
{
	if (!outlet->open)
		return;
	pthread_mutex_lock(&outlet->lock);
	outlet->ending = true;
	pthread_cond_broadcast(&outlet->changed);
	pthread_mutex_unlock(&outlet->lock);
	pthread_join(outlet->writer, NULL);
	outlet->open = false;
	free(outlet->queue.data);
	free(outlet->leaving.data);
}
