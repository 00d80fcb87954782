/* SPDX-License-Identifier: GPL-2.0-only */
/* An event receiver: its card, and the part of the driver that handles the interrupts. */
#ifndef RTEVENT_RECEIVER_H
#define RTEVENT_RECEIVER_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "../rtdevice.h"
#include "rtevent.h"

struct eventfd_ctx;
struct fasync_struct;

struct receiver {
	struct mutex starting; /* serializes RTEVENT_START, which succeeds once */
	bool started;
	struct rtevent_setup setup;
	struct rtevent_map *map;

	/* the card */
	struct hrtimer timer;
	u64 fiducial_ns;
	u64 due_ns;
	u64 random;
	u32 kind;

	/* its driver */
	int irq;
	raw_spinlock_t lock; /* protects the events and the numbers of the next events */
	u32 interrupts;
	u32 handled;
	u32 taken;
	struct completion settled;
	int error; /* of setting up the interrupt thread */
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct eventfd_ctx *eventfd;
};

/* Allocate a receiver that is not started, or NULL. */
struct receiver *receiver_new(void);

/* Start its card with a valid setup. Returns 0, or an error after undoing everything. */
int receiver_start(struct receiver *receiver, const struct rtevent_setup *setup);

/* Stop and free it. */
void receiver_free(struct receiver *receiver);

static inline bool receiver_has_events(struct receiver *receiver)
{
	return (s32)(READ_ONCE(receiver->handled) - READ_ONCE(receiver->taken)) > 0;
}

/* Take the next event, if there is one. Overwritten events are skipped. */
bool receiver_take(struct receiver *receiver, struct rtevent_event *event);

#endif
