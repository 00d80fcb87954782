// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card: one event each period, stored until the program requests it.
 *
 * A real card digitizes into its own memory, at no cost to the CPU. Here an
 * event is only its number and the time of its completion. The card stores
 * CARD_EVENTS events besides the one that is being read; another one
 * overwrites the oldest. A program that arms in time waits for the next event.
 * One that is late gets the oldest event at once: the interrupt then follows
 * the arming after the transfer time alone, and can arrive before a separate
 * call waits for it.
 */
#include <linux/math64.h>

#include "daq.h"

#define GOLDEN 2654435769U /* of 2^32: consecutive parts of a sweep never repeat */

/* Begin the transfer of a stored event, or its interrupt. */
static void feed(struct daq *daq)
{
	struct card *card = &daq->card;
	bool whole = daq->setup.interrupts == RTDAQ_PER_EVENT;

	if (!card->armed || card->busy || card->gone == card->events)
		return;
	card->armed = false;
	card->busy = true;
	card->reading = ++card->gone;
	card->reading_ns = card->ready_ns[card->reading % CARD_EVENTS];
	card->step = 0;
	engine_transfer(daq, 0, whole ? daq->setup.bytes : 0);
}

static u64 event_ns(const struct daq *daq, u64 event)
{
	return daq->card.start_ns + event * daq->setup.period_ns +
	       mul_u64_u32_shr(daq->setup.sweep_ns, (u32)event * GOLDEN, 32);
}

/* Store the last of @count new events. */
static void add_events(struct card *card, u64 count)
{
	u64 overwritten;

	card->events += count;
	if (card->events - card->gone <= CARD_EVENTS)
		return;
	overwritten = card->events - card->gone - CARD_EVENTS;
	card->overwritten += overwritten;
	card->gone += overwritten;
}

/* Add all events that are due: several if the machine was paused. */
static void take_events(struct daq *daq, u64 now_ns)
{
	struct card *card = &daq->card;
	u64 begun = rtdevice_passed(card->start_ns, daq->setup.period_ns, now_ns);

	if (begun > card->events + CARD_EVENTS + 1)
		add_events(card, begun - card->events - CARD_EVENTS - 1);
	while (event_ns(daq, card->events) <= now_ns) {
		u64 ready_ns = event_ns(daq, card->events);

		add_events(card, 1);
		card->ready_ns[card->events % CARD_EVENTS] = ready_ns;
	}
}

static enum hrtimer_restart new_event(struct hrtimer *timer)
{
	struct card *card = container_of(timer, struct card, beam);
	struct daq *daq = container_of(card, struct daq, card);
	unsigned long flags;

	raw_spin_lock_irqsave(&card->lock, flags);
	take_events(daq, ktime_get_ns());
	hrtimer_set_expires(timer, ns_to_ktime(event_ns(daq, card->events)));
	feed(daq);
	raw_spin_unlock_irqrestore(&card->lock, flags);
	return HRTIMER_RESTART;
}

void card_init(struct daq *daq)
{
	raw_spin_lock_init(&daq->card.lock);
	rtdevice_timer_setup(&daq->card.beam, new_event, HRTIMER_MODE_ABS_PINNED_HARD);
}

void card_start(struct daq *daq, u64 start_ns)
{
	daq->card.start_ns = rtdevice_first_ns(start_ns, daq->setup.period_ns);
	hrtimer_start(&daq->card.beam, ns_to_ktime(event_ns(daq, 0)), HRTIMER_MODE_ABS_PINNED_HARD);
}

void card_stop(struct daq *daq)
{
	hrtimer_cancel(&daq->card.beam);
}

/* The caller holds the card's lock. */
int card_arm(struct daq *daq, u32 step)
{
	struct card *card = &daq->card;

	if (step >= daq->setup.steps || (step && !card->reading))
		return -EINVAL;
	if (card->busy)
		return -EBUSY;
	if (!step) {
		card->armed = true;
		feed(daq);
		return 0;
	}
	card->armed = false;
	card->busy = true;
	card->step = step;
	engine_transfer(daq, (step - 1) * daq->channel_bytes, step * daq->channel_bytes);
	return 0;
}

/* The caller holds the card's lock. A transfer that has begun still interrupts. */
void card_disarm(struct daq *daq)
{
	daq->card.armed = false;
}
