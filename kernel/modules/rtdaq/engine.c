// SPDX-License-Identifier: GPL-2.0-only
/*
 * The digitizer's DMA engine, in software: it transfers data and interrupts.
 *
 * A timer models the duration of a transfer at mb_s; the CPU is free meanwhile.
 * At its end the timer's function plays the hardware: it writes the part of the
 * data that a program can check, one word in each block of 1 KiB, and raises
 * the interrupt. Both happen before the interrupt's time stamp, so neither is
 * measured. The CPU's work is that of a real device: arming (a register), the
 * interrupt, and the page descriptors, which are made once. Transfers are
 * coherent with the caches, as on nearly all PCI devices.
 *
 * The interrupt has no controller. Everything after it is the kernel's real
 * interrupt handling.
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

/* The card is busy, so nothing else changes the fields that are read here. */
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
