// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that reach a program as real-time signals.
 *
 * A signal carries the number of its slot, where the stamp of its source stands.
 * A handler writes there when it ran, in which thread and where, and no more: it
 * may have interrupted anything, and another thread may be in it at the same time.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/signal_events.h"
#include "session/trace_stop.h"

#define SETTLE_NS (50 * NSEC_PER_USEC)

static struct events *handled;

static struct event_slot *slot_of(struct events *events, uint64_t sequence)
{
	return &events->slot[sequence % EVENT_SLOTS];
}

static void handle(int number, siginfo_t *info, void *context)
{
	uint64_t now_ns = clock_now_ns();
	struct event_slot *slot = slot_of(handled, (unsigned int)info->si_value.sival_int);

	(void)number;
	(void)context;
	trace_stop_at(clock_elapsed_ns(slot->stamp_ns, now_ns));
	slot->recipient = event_recipient;
	slot->cpu = sched_getcpu();
	__atomic_store_n(&slot->taken_ns, now_ns, __ATOMIC_RELEASE);
}

void events_open(struct events *events, int number, uint64_t deadline_ns)
{
	events->number = number;
	events->recipients.deadline_ns = deadline_ns;
	events->info = (siginfo_t){ .si_code = SI_QUEUE };
	events->info.si_pid = getpid();
	events->info.si_uid = getuid();
}

void events_handle(struct events *events)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART };

	handled = events;
	sigaction(events->number, &action, NULL);
}

void events_mask(const struct events *events, int how)
{
	sigset_t set;

	if (!events->number)
		return;
	sigemptyset(&set);
	sigaddset(&set, events->number);
	pthread_sigmask(how, &set, NULL);
}

/* By system call: a libc's sigqueue() makes several others first. */
static int queue(struct events *events, int value)
{
	events->info.si_value.sival_int = value;
	return (int)syscall(SYS_rt_sigqueueinfo, events->info.si_pid, events->number,
			    &events->info);
}

void events_send(struct events *events)
{
	struct event_slot *slot = slot_of(events, events->sent);
	int value = (int)(events->sent & EVENT_VALUE_MAX);

	slot->taken_ns = 0;
	slot->stamp_ns = clock_now_ns();
	if (queue(events, value)) {
		record_set(events->refused, events->refused + 1);
		return;
	}
	sched_yield();
	record_set(events->sent, events->sent + 1);
}

uint64_t events_tried(const struct events *events)
{
	return record_get(events->sent) + record_get(events->refused);
}

bool events_have_room(const struct events *events)
{
	return events->sent - __atomic_load_n(&events->recipients.noted, __ATOMIC_ACQUIRE) <
	       EVENT_SLOTS;
}

void events_warm_up(struct events *events, bool same_cpu)
{
	queue(events, EVENT_WARM_UP);
	if (same_cpu)
		sched_yield();
	else
		clock_sleep_until(clock_now_ns() + SETTLE_NS);
}

void events_note(struct events *events, struct measuring *measuring, uint64_t sequence,
		 uint64_t taken_ns, unsigned int recipient, int cpu)
{
	recipients_note(&events->recipients, measuring, slot_of(events, sequence)->stamp_ns,
			taken_ns, recipient, cpu);
	record_set(measuring->record.missed, record_get(events->missed));
}

void events_collect(struct events *events, struct measuring *measuring)
{
	while (events->recipients.noted < record_get(events->sent) &&
	       !measuring->record.threshold_reached) {
		struct event_slot *slot = slot_of(events, events->recipients.noted);
		uint64_t taken_ns = __atomic_load_n(&slot->taken_ns, __ATOMIC_ACQUIRE);

		if (!taken_ns)
			return;
		events_note(events, measuring, events->recipients.noted, taken_ns, slot->recipient,
			    slot->cpu);
	}
}

void events_report(const struct events *events, struct measuring *measuring, unsigned int own)
{
	recipients_report(&events->recipients, measuring, own,
			  events->sent - events->recipients.noted + events->refused);
}
