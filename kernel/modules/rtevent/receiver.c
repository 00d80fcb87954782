// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtevent: an event receiver that needs no hardware.
 *
 * The timing card of an accelerator interrupts its computer at each fiducial, 360 times a second,
 * and again when the fiducial's data are available. Here a timer in hard interrupt context replaces
 * the card, and an interrupt number without hardware replaces its line. The rest is a driver as for
 * a real card: the handler takes the time stamp, and the interrupt thread notifies the waiters by
 * every method that Linux has.
 *
 * The handler stays in hard interrupt context (RTDEVICE_IRQ_FLAGS), so its lock is a raw one. The
 * thread wakes the waiters, because wait queues sleep on their locks on PREEMPT_RT.
 *
 * Card, interrupt line, thread and events belong to the open file and end with it.
 */
#include <linux/cpumask.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <uapi/linux/sched/types.h>

#include "receiver.h"

static struct rtevent_event *slot_of(struct receiver *receiver, u32 sequence)
{
	return &receiver->map->slot[sequence % RTEVENT_SLOTS];
}

/* Same generator as in agent/base/pause.h. */
static u64 pause_ns(struct receiver *receiver)
{
	u64 mean_ns = receiver->setup.interval_ns, random;

	if (!receiver->setup.seed)
		return mean_ns;
	receiver->random += 0x9e3779b97f4a7c15;
	random = receiver->random;
	random = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9;
	random = (random ^ (random >> 27)) * 0x94d049bb133111eb;
	random ^= random >> 31;
	return mean_ns / 2 + mul_u64_u32_shr(mean_ns, random >> 32, 32);
}

static void plan_next(struct receiver *receiver)
{
	u64 interval_ns = receiver->setup.interval_ns, now_ns = ktime_get_ns(), missed;

	if (receiver->kind == RTEVENT_FIDUCIAL && receiver->setup.data_ns) {
		receiver->kind = RTEVENT_DATA;
		receiver->due_ns = receiver->fiducial_ns + receiver->setup.data_ns;
	} else {
		receiver->kind = RTEVENT_FIDUCIAL;
		receiver->fiducial_ns += pause_ns(receiver);
		missed = rtdevice_passed(receiver->fiducial_ns, interval_ns, now_ns);
		receiver->fiducial_ns += missed * interval_ns;
		WRITE_ONCE(receiver->map->missed, receiver->map->missed + (u32)missed);
		receiver->due_ns = receiver->fiducial_ns;
	}
	smp_wmb(); /* a reader that sees this count also sees the interrupt */
	WRITE_ONCE(receiver->map->next_ns, receiver->due_ns);
}

static enum hrtimer_restart expire(struct hrtimer *timer)
{
	struct receiver *receiver = container_of(timer, struct receiver, timer);

	generic_handle_irq(receiver->irq);
	plan_next(receiver);
	hrtimer_set_expires(timer, ns_to_ktime(receiver->due_ns));
	return HRTIMER_RESTART;
}

static irqreturn_t interrupt_handler(int irq, void *data)
{
	u64 now_ns = ktime_get_ns();
	struct receiver *receiver = data;
	u32 sequence = receiver->interrupts;
	struct rtevent_event *event = slot_of(receiver, sequence);

	raw_spin_lock(&receiver->lock);
	WRITE_ONCE(event->sequence, ~sequence);
	smp_wmb(); /* a copy that contains new parts fails the check of sequence */
	event->due_ns = receiver->due_ns;
	event->interrupt_ns = now_ns;
	event->thread_ns = 0;
	event->wake_ns = 0;
	event->kind = receiver->kind;
	smp_store_release(&event->sequence, sequence); /* readers of the mapping see all of it */
	receiver->interrupts = sequence + 1;
	/* as above */
	smp_store_release(&receiver->map->interrupts, receiver->interrupts);
	raw_spin_unlock(&receiver->lock);
	return IRQ_WAKE_THREAD;
}

/* Run the interrupt thread on the interrupted CPU, with the requested priority. */
static int settle_thread(const struct rtevent_setup *setup)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = setup->priority,
	};
	int error = set_cpus_allowed_ptr(current, cpumask_of(setup->cpu));

	if (error || !setup->priority)
		return error;
	return sched_setattr_nocheck(current, &attr);
}

/* Return the number of interrupts since the last call, and the time of this call. */
static u32 find_events(struct receiver *receiver, u64 *thread_ns)
{
	unsigned long flags;
	u32 count;

	raw_spin_lock_irqsave(&receiver->lock, flags);
	count = receiver->interrupts - receiver->handled;
	*thread_ns = ktime_get_ns(); /* under the lock, so that no counted interrupt is later */
	raw_spin_unlock_irqrestore(&receiver->lock, flags);
	return count;
}

/* Release @count more events to readers. Overwritten events are not changed. */
static void publish_events(struct receiver *receiver, u32 count, u64 thread_ns)
{
	struct rtevent_map *map = receiver->map;
	unsigned long flags;
	u64 wake_ns;
	u32 i;

	raw_spin_lock_irqsave(&receiver->lock, flags);
	wake_ns = ktime_get_ns();
	for (i = count > RTEVENT_SLOTS ? count - RTEVENT_SLOTS : 0; i < count; i++) {
		struct rtevent_event *event = slot_of(receiver, receiver->handled + i);

		if (event->sequence != receiver->handled + i)
			continue;
		event->thread_ns = thread_ns;
		event->wake_ns = wake_ns;
	}
	WRITE_ONCE(receiver->handled, receiver->handled + count);
	WRITE_ONCE(map->merged, map->merged + count - 1);
	/* their times are complete for readers of the mapping */
	smp_store_release(&map->handled, receiver->handled);
	raw_spin_unlock_irqrestore(&receiver->lock, flags);
}

static void signal_eventfd(struct eventfd_ctx *eventfd)
{
#if KERNEL_VERSION(6, 8, 0) <= LINUX_VERSION_CODE
	eventfd_signal(eventfd);
#else
	eventfd_signal(eventfd, 1);
#endif
}

static irqreturn_t handle_events(int irq, void *data)
{
	struct receiver *receiver = data;
	u64 thread_ns;
	u32 count;

	if (!completion_done(&receiver->settled)) {
		receiver->error = settle_thread(&receiver->setup);
		complete_all(&receiver->settled);
	}
	count = find_events(receiver, &thread_ns);
	if (!count)
		return IRQ_HANDLED;
	publish_events(receiver, count, thread_ns);
	wake_up_interruptible_poll(&receiver->wait, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&receiver->fasync, SIGIO, POLL_IN);
	if (receiver->eventfd)
		signal_eventfd(receiver->eventfd);
	return IRQ_HANDLED;
}

static void start_timer(void *data)
{
	struct receiver *receiver = data;

	hrtimer_start(&receiver->timer, ns_to_ktime(receiver->due_ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Start the card: its timer is pinned to the calling CPU. */
static int start_card(struct receiver *receiver)
{
	receiver->random = receiver->setup.seed;
	receiver->fiducial_ns = receiver->setup.start_ns ?: ktime_get_ns();
	receiver->kind = RTEVENT_DATA;
	plan_next(receiver);
	return smp_call_function_single(receiver->setup.cpu, start_timer, receiver, 1);
}

static int open_eventfd(struct receiver *receiver)
{
	struct eventfd_ctx *eventfd;

	if (receiver->setup.eventfd < 0)
		return 0;
	eventfd = eventfd_ctx_fdget(receiver->setup.eventfd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);
	receiver->eventfd = eventfd;
	return 0;
}

static void close_eventfd(struct receiver *receiver)
{
	if (receiver->eventfd)
		eventfd_ctx_put(receiver->eventfd);
	receiver->eventfd = NULL;
}

int receiver_start(struct receiver *receiver, const struct rtevent_setup *setup)
{
	int error;

	receiver->setup = *setup;
	if (receiver->setup.cpu < 0)
		receiver->setup.cpu = raw_smp_processor_id();
	error = open_eventfd(receiver);
	if (error)
		return error;
	receiver->irq = rtdevice_irq_open(interrupt_handler, handle_events, "rtevent", receiver);
	error = min(receiver->irq, 0);
	if (error)
		goto out_eventfd;
	reinit_completion(&receiver->settled);
	irq_wake_thread(receiver->irq, receiver);
	wait_for_completion(&receiver->settled);
	error = receiver->error ?: start_card(receiver);
	if (!error)
		return 0;

	rtdevice_irq_close(receiver->irq, receiver);
out_eventfd:
	close_eventfd(receiver);
	return error;
}

struct receiver *receiver_new(void)
{
	struct receiver *receiver = kzalloc(sizeof(*receiver), GFP_KERNEL);

	if (!receiver)
		return NULL;
	receiver->map = vmalloc_user(sizeof(*receiver->map));
	if (!receiver->map) {
		kfree(receiver);
		return NULL;
	}
	mutex_init(&receiver->starting);
	raw_spin_lock_init(&receiver->lock);
	init_waitqueue_head(&receiver->wait);
	init_completion(&receiver->settled);
	rtdevice_timer_setup(&receiver->timer, expire, HRTIMER_MODE_ABS_PINNED_HARD);
	return receiver;
}

void receiver_free(struct receiver *receiver)
{
	if (receiver->started) {
		hrtimer_cancel(&receiver->timer);
		rtdevice_irq_close(receiver->irq, receiver);
		close_eventfd(receiver);
	}
	vfree(receiver->map);
	kfree(receiver);
}

bool receiver_take(struct receiver *receiver, struct rtevent_event *event)
{
	unsigned long flags;
	u32 oldest;
	bool taken;

	raw_spin_lock_irqsave(&receiver->lock, flags);
	oldest = receiver->interrupts - RTEVENT_SLOTS;
	if ((s32)(oldest - receiver->taken) > 0)
		WRITE_ONCE(receiver->taken, oldest);
	taken = receiver_has_events(receiver);
	if (taken) {
		*event = *slot_of(receiver, receiver->taken);
		WRITE_ONCE(receiver->taken, receiver->taken + 1);
	}
	raw_spin_unlock_irqrestore(&receiver->lock, flags);
	return taken;
}
