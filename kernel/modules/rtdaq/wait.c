// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming the card and waiting for its interrupt, and the interrupt itself.
 *
 * One thread at a time may wait. An interrupt without a waiter is only counted,
 * as in the drivers that the report describes.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "daq.h"

#define WAIT_MAX_NS (30 * NSEC_PER_SEC)

/* Start to wait; arm the card if @step is not NULL. */
static int begin_wait(struct daq *daq, const u32 *step)
{
	int result = 0;

	raw_spin_lock_irq(&daq->card.lock);
	if (daq->waiting)
		result = -EBUSY;
	else if (step)
		result = card_arm(daq, *step);
	if (!result) {
		daq->done = false;
		daq->waiting = true;
	}
	raw_spin_unlock_irq(&daq->card.lock);
	return result;
}

/* Return whether the interrupt arrived, with its result. */
static bool end_wait(struct daq *daq, struct rtdaq_wait *wait, bool disarm)
{
	bool done;

	raw_spin_lock_irq(&daq->card.lock);
	done = daq->done;
	daq->result.timeout_ns = wait->timeout_ns;
	if (done)
		*wait = daq->result;
	else if (disarm)
		card_disarm(daq);
	daq->waiting = false;
	raw_spin_unlock_irq(&daq->card.lock);
	return done;
}

static int await_interrupt(struct daq *daq, struct rtdaq_wait *wait, bool arm)
{
	ktime_t timeout = ns_to_ktime(min_t(u64, wait->timeout_ns, WAIT_MAX_NS));
	int result = begin_wait(daq, arm ? &wait->step : NULL);

	if (result)
		return result;
	result = wait_event_interruptible_hrtimeout(daq->wait, READ_ONCE(daq->done), timeout);
	if (end_wait(daq, wait, arm))
		return 0;
	return result == -ETIME ? -ETIMEDOUT : -EINTR;
}

/* Copy the data of the completed transfer to the program. */
static int copy_data(struct daq *daq, const struct rtdaq_wait *wait)
{
	u32 first = wait->step ? (wait->step - 1) * daq->channel_bytes : 0;
	u32 size = daq->setup.interrupts == RTDAQ_PER_EVENT ? daq->setup.bytes :
		   wait->step				    ? daq->channel_bytes :
							      0;

	if (daq->setup.transfer != RTDAQ_COPY)
		return 0;
	if (copy_to_user(u64_to_user_ptr(daq->setup.buffer + first), daq->buffer.kernel + first,
			 size))
		return -EFAULT;
	raw_spin_lock_irq(&daq->card.lock);
	daq->copied_bytes += size;
	raw_spin_unlock_irq(&daq->card.lock);
	return 0;
}

long daq_wait(struct daq *daq, struct rtdaq_wait __user *to, bool arm)
{
	struct rtdaq_wait wait;
	int result;

	if (copy_from_user(&wait, to, sizeof(wait)))
		return -EFAULT;
	result = await_interrupt(daq, &wait, arm);
	if (!result)
		result = copy_data(daq, &wait);
	if (!result && copy_to_user(to, &wait, sizeof(wait)))
		return -EFAULT;
	return result;
}

long daq_arm(struct daq *daq, const __u32 __user *from)
{
	int result;
	u32 step;

	if (get_user(step, from))
		return -EFAULT;
	raw_spin_lock_irq(&daq->card.lock);
	result = card_arm(daq, step);
	raw_spin_unlock_irq(&daq->card.lock);
	return result;
}

long daq_counts(struct daq *daq, struct rtdaq_counts __user *to)
{
	struct rtdaq_counts counts = { 0 };

	raw_spin_lock_irq(&daq->card.lock);
	counts.events = daq->card.events;
	counts.overwritten = daq->card.overwritten;
	counts.interrupts = daq->interrupts;
	counts.unseen = daq->unseen;
	counts.copied_bytes = daq->copied_bytes;
	raw_spin_unlock_irq(&daq->card.lock);
	return copy_to_user(to, &counts, sizeof(counts)) ? -EFAULT : 0;
}

void daq_interrupt(struct daq *daq)
{
	u64 now_ns = ktime_get_ns();
	struct card *card = &daq->card;
	unsigned long flags;

	raw_spin_lock_irqsave(&card->lock, flags);
	daq->result = (struct rtdaq_wait){
		.event = card->reading,
		.ready_ns = card->reading_ns,
		.interrupt_ns = now_ns,
		.step = card->step,
	};
	daq->interrupts++;
	raw_spin_unlock_irqrestore(&card->lock, flags);
}

void daq_interrupt_thread(struct daq *daq)
{
	raw_spin_lock_irq(&daq->card.lock);
	daq->card.busy = false;
	daq->done = daq->waiting;
	daq->unseen += !daq->waiting;
	raw_spin_unlock_irq(&daq->card.lock);
	wake_up_interruptible(&daq->wait);
}
