/* SPDX-License-Identifier: GPL-2.0-only */
/* The notification methods of the driver rtevent, one struct notification_method each. */
#ifndef RTSCOPE_EVENT_METHODS_H
#define RTSCOPE_EVENT_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "probe/event_uring.h"
#include "rtevent/rtevent.h"

struct notification_method;

/* An open /dev/rtevent, and the events received from it. */
struct receiver {
	const struct notification_method *method;
	int device;
	int fd; /* of an eventfd or epoll, if the method needs one */
	struct uring uring;
	const struct rtevent_map *map;
	uint32_t watched; /* events, in the map */

	uint64_t now_ns; /* right after the wait */
	unsigned int count;
	struct rtevent_event event[RTEVENT_SLOTS];
};

struct notification_method {
	const char *kernel_option;		 /* without which open() fails with ENOSYS */
	bool blocks;				 /* on the device itself */
	int (*open)(struct receiver *receiver);	 /* 0 or -1 with errno; NULL: needs nothing */
	void (*wait)(struct receiver *receiver); /* for events, or a signal; NULL: by a handler */
};

/* All of them, and their names in the same order with a NULL last. */
extern const struct notification_method notification_methods[];
extern const char *const notification_method_names[];

/* Open the device for @method, not yet started. Returns 0, or -1 with a message in @error. */
int receiver_open(struct receiver *receiver, const struct notification_method *method, char *error,
		  size_t error_size);

/* Fill the method's part of @setup and start. Returns 0, or -1 with errno. */
int receiver_start(struct receiver *receiver, struct rtevent_setup *setup);

/*
 * When a program that looked at the clock at @now_ns had @event: a moment later where that came
 * in between that look and the call that fetched it.
 */
static inline uint64_t event_taken_ns(const struct rtevent_event *event, uint64_t now_ns)
{
	return event->interrupt_ns <= now_ns ? now_ns : clock_now_ns();
}

/* Close the device, which stops the events. */
void receiver_close(struct receiver *receiver);

#endif
