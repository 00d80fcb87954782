// SPDX-License-Identifier: GPL-2.0-only
/*
 * The digitizer's engine, in software: it moves data and interrupts.
 *
 * A transfer takes the time that its bytes take at mb_s, by a timer, and the CPU
 * does nothing meanwhile. When it is over the timer's function stands for the
 * hardware: it writes what a real engine would have written, in so far as
 * anybody can check it, a word in each block of 1 KiB, and raises the
 * interrupt. Both are before the interrupt takes its time stamp, so neither is
 * part of what is measured. What is left to the CPU is what a real device leaves
 * it: to arm it (a register), its interrupt, and the pages' descriptors, which
 * are made once. It is coherent with the caches, as nearly all of PCI is.
 *
 * The interrupt has no controller behind it; all from there on is the kernel's
 * real interrupt handling.
 */
#include <linux/highmem.h>

#include "daq.h"

static void write_blocks(struct page *page, u32 first, u32 end, u64 event)
{
	void *to = kmap_local_page(page);

	for (u32 at = first; at < end; at += RTDAQ_BLOCK)
		*(u64 *)(to + offset_in_page(at)) = RTDAQ_STAMP(event, at / RTDAQ_BLOCK);
	kunmap_local(to);
	flush_dcache_page(page);
}

static void write_event(const struct daq *daq)
{
	const struct engine *engine = &daq->engine;
	u32 page_end;

	for (u32 at = engine->first; at < engine->end; at = page_end) {
		page_end = min_t(u32, round_down(at, PAGE_SIZE) + PAGE_SIZE, engine->end);
		write_blocks(daq->buffer.pages[at >> PAGE_SHIFT], at, page_end, daq->card.reading);
	}
}

/* The card is busy, so nobody else changes what is read here. */
static enum hrtimer_restart transferred(struct hrtimer *timer)
{
	struct daq *daq = container_of(timer, struct daq, engine.timer);

	write_event(daq);
	generic_handle_irq(daq->engine.irq);
	return HRTIMER_NORESTART;
}

void engine_transfer(struct daq *daq, u32 first, u32 end)
{
	struct engine *engine = &daq->engine;
	u64 taken_ns = div_u64((u64)(end - first) * 1000, daq->setup.mb_s);

	engine->first = first;
	engine->end = end;
	hrtimer_start(&engine->timer, ktime_add_ns(ktime_get(), taken_ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

static irqreturn_t handle(int irq, void *daq)
{
	daq_interrupt(daq);
	return IRQ_WAKE_THREAD;
}

static irqreturn_t handle_in_thread(int irq, void *daq)
{
	daq_interrupt_thread(daq);
	return IRQ_HANDLED;
}

int engine_open(struct daq *daq)
{
	rtdevice_timer_setup(&daq->engine.timer, transferred, HRTIMER_MODE_ABS_PINNED_HARD);
	daq->engine.irq = rtdevice_irq_open(handle, handle_in_thread, "rtdaq", daq);
	return min(daq->engine.irq, 0);
}

void engine_close(struct daq *daq)
{
	hrtimer_cancel(&daq->engine.timer);
	rtdevice_irq_close(daq->engine.irq, daq);
}
