// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handler may have interrupted anything, and another thread may be in it at
 * the same time. It leaves what it took in a place of its own, in turn, for the
 * thread that keeps the record. The driver gives each event to one of them.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/event_handler.h"
#include "probe/event_methods.h"
#include "probe/recipients.h"
#include "session/trace_stop.h"

#define PLACES 512
#define BATCH  8

static struct handled place[PLACES];
static uint64_t placed, forgotten;
static int device;

/* NULL where the thread that keeps the record is too far behind: the event is lost. */
static struct handled *next_place(void)
{
	uint64_t number = __atomic_load_n(&placed, __ATOMIC_RELAXED);

	do {
		if (number - __atomic_load_n(&forgotten, __ATOMIC_ACQUIRE) >= PLACES)
			return NULL;
	} while (!__atomic_compare_exchange_n(&placed, &number, number + 1, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	return &place[number % PLACES];
}

static void keep(const struct rtevent_event *event, uint64_t now_ns, bool merged)
{
	struct handled *handled = next_place();

	if (!handled)
		return;
	handled->event = *event;
	handled->taken_ns = event_taken_ns(event, now_ns);
	trace_stop_at(clock_elapsed_ns(event->interrupt_ns, handled->taken_ns));
	handled->recipient = event_recipient;
	handled->cpu = sched_getcpu();
	handled->merged = merged;
	__atomic_store_n(&handled->full, true, __ATOMIC_RELEASE);
}

static void handle(int number)
{
	uint64_t now_ns = clock_now_ns();
	struct rtevent_event batch[BATCH];
	bool merged = false;
	int error = errno;
	ssize_t size;

	(void)number;
	while ((size = read(device, batch, sizeof(batch))) > 0) {
		for (size_t i = 0; i < (size_t)size / sizeof(batch[0]); i++) {
			keep(&batch[i], now_ns, merged);
			merged = true;
		}
	}
	errno = error;
}

void handler_install(int from)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

	device = from;
	sigaction(SIGIO, &action, NULL);
}

const struct handled *handler_first(void)
{
	const struct handled *first = &place[forgotten % PLACES];

	return __atomic_load_n(&first->full, __ATOMIC_ACQUIRE) ? first : NULL;
}

void handler_forget(void)
{
	place[forgotten % PLACES].full = false;
	__atomic_store_n(&forgotten, forgotten + 1, __ATOMIC_RELEASE);
}
