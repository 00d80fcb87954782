// SPDX-License-Identifier: GPL-2.0-only
/*
 * The digitizer in software: an engine that moves data and interrupts.
 *
 * A transfer takes the time that its bytes take at mb_s, by a timer, and the CPU
 * does nothing meanwhile. When it is over the timer's function stands for the
 * hardware: it writes what a real engine would have written, in so far as
 * anybody can check it, a word in each block of 1 KiB, and raises the line of an
 * interrupt. Both are before the interrupt takes its time stamp, so neither is
 * part of what is measured. What is left to the CPU is what a real device leaves
 * it: to arm it (a register), its interrupt, and the pages' descriptors, which
 * are made once. It is coherent with the caches, as nearly all of PCI is.
 *
 * The line is an interrupt of its own with no controller behind it; all from
 * there on is the kernel's real interrupt handling.
 */
#include <linux/highmem.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/slab.h>

#include "daq.h"

struct model {
	struct daq *daq;
	struct hrtimer timer;
	u32 first, end; /* of the transfer */
};

static void write_blocks(struct page *page, u32 first, u32 end, u64 event)
{
	void *to = kmap_local_page(page);

	for (u32 at = first; at < end; at += RTDAQ_BLOCK)
		*(u64 *)(to + offset_in_page(at)) = RTDAQ_STAMP(event, at / RTDAQ_BLOCK);
	kunmap_local(to);
	flush_dcache_page(page);
}

static void write_event(const struct model *model)
{
	const struct daq *daq = model->daq;
	u32 page_end;

	for (u32 at = model->first; at < model->end; at = page_end) {
		page_end = min_t(u32, round_down(at, PAGE_SIZE) + PAGE_SIZE, model->end);
		write_blocks(daq->buffer.pages[at >> PAGE_SHIFT], at, page_end, daq->card.reading);
	}
}

/* The card is busy, so nobody else changes what is read here. */
static enum hrtimer_restart transferred(struct hrtimer *timer)
{
	struct model *model = container_of(timer, struct model, timer);

	write_event(model);
	generic_handle_irq(model->daq->line);
	return HRTIMER_NORESTART;
}

static void transfer(struct daq *daq, u32 first, u32 end)
{
	struct model *model = daq->device;
	u64 taken_ns = div_u64((u64)(end - first) * 1000, daq->setup.mb_s);

	model->first = first;
	model->end = end;
	hrtimer_start(&model->timer, ktime_add_ns(ktime_get(), taken_ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

static irqreturn_t handle(int line, void *daq)
{
	daq_interrupt(daq);
	return IRQ_WAKE_THREAD;
}

static irqreturn_t handle_in_thread(int line, void *daq)
{
	daq_interrupt_thread(daq);
	return IRQ_HANDLED;
}

static int open_line(struct model *model)
{
	int result;

	model->daq->line = irq_alloc_desc(NUMA_NO_NODE);
	if (model->daq->line < 0)
		return model->daq->line;
	irq_set_chip_and_handler(model->daq->line, &dummy_irq_chip, handle_simple_irq);
	irq_modify_status(model->daq->line, IRQ_NOREQUEST | IRQ_NOAUTOEN, IRQ_NOPROBE);
	result = request_threaded_irq(model->daq->line, handle, handle_in_thread, IRQF_NO_THREAD,
				      "rtdaq", model->daq);
	if (result)
		irq_free_desc(model->daq->line);
	return result;
}

static int model_open(struct daq *daq)
{
	struct model *model = kzalloc(sizeof(*model), GFP_KERNEL);
	int result;

	if (!model)
		return -ENOMEM;
	model->daq = daq;
	timer_init(&model->timer, transferred);
	result = open_line(model);
	if (result)
		kfree(model);
	else
		daq->device = model;
	return result;
}

static void model_close(struct daq *daq)
{
	struct model *model = daq->device;

	hrtimer_cancel(&model->timer);
	free_irq(model->daq->line, daq);
	irq_free_desc(model->daq->line);
	kfree(model);
}

const struct engine model_engine = {
	.open = model_open,
	.close = model_close,
	.transfer = transfer,
};
