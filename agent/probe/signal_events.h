/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that reach a program as real-time signals, and the recipient of each. */
#ifndef RTSCOPE_SIGNAL_EVENTS_H
#define RTSCOPE_SIGNAL_EVENTS_H

#include <signal.h>

#include "probe/recipients.h"

#define EVENT_SLOTS	4096 /* events under way at once */
#define EVENT_WARM_UP	(-1) /* the value of a signal that is no event: it warms the caches */
#define EVENT_VALUE_MAX 0x3fffffffU

struct event_slot {
	uint64_t stamp_ns;
	uint64_t taken_ns; /* by a handler; 0: not yet */
	unsigned int recipient;
	int cpu; /* that the recipient ran on */
};

/* The events that are delivered in one way. */
struct events {
	int number; /* the signal; 0: these are not sent */
	siginfo_t info;
	uint64_t sent;
	uint64_t refused; /* by the kernel: its queue was full */
	uint64_t missed;  /* periods without an event */
	struct recipients recipients;
	struct event_slot slot[EVENT_SLOTS];
};

void events_open(struct events *events, int number, uint64_t deadline_ns);

/* Have @events taken by a handler, in any thread that does not block them. */
void events_handle(struct events *events);

/* SIG_BLOCK or SIG_UNBLOCK them in the calling thread. */
void events_mask(const struct events *events, int how);

/* Stamp an event and send it to the process; not without room. One may be refused. */
void events_send(struct events *events);
bool events_have_room(const struct events *events);

/* Send EVENT_WARM_UP, and return when its recipient, on the @same_cpu or not, waits again. */
void events_warm_up(struct events *events, bool same_cpu);

/* How many were sent, those included that the kernel refused. */
uint64_t events_tried(const struct events *events);

/* Enter the event of number @sequence, taken on @cpu, into the record of @measuring. */
void events_note(struct events *events, struct measuring *measuring, uint64_t sequence,
		 uint64_t taken_ns, unsigned int recipient, int cpu);

/* Enter what the handler has taken since the last time, in order. */
void events_collect(struct events *events, struct measuring *measuring);

/* Add the metrics. @own: the recipient that is a thread for these events alone. */
void events_report(const struct events *events, struct measuring *measuring, unsigned int own);

#endif
