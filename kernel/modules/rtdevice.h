/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common code of the modules that model a device in software: a timer replaces
 * the device, an interrupt number without a controller replaces its line.
 *
 * A deadline in the past is advanced by whole periods, as hrtimer_forward()
 * does. A timer or a real-time thread that started in the past would run once
 * for each period since then and starve its CPU: after a start at 0 of
 * CLOCK_MONOTONIC these are millions.
 */
#ifndef RTDEVICE_H
#define RTDEVICE_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/version.h>

#define RTDEVICE_START_MAX_NS (3600 * (u64)NSEC_PER_SEC) /* ahead of now */

/*
 * Keeps the handler in hard interrupt context on PREEMPT_RT, which would otherwise run it in a
 * thread and delay its time stamp. The handler must use raw locks only and wake no wait queue.
 */
#define RTDEVICE_IRQ_FLAGS IRQF_NO_THREAD

typedef enum hrtimer_restart (*rtdevice_timer_fn)(struct hrtimer *timer);

static inline void rtdevice_timer_setup(struct hrtimer *timer, rtdevice_timer_fn function,
					enum hrtimer_mode mode)
{
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

/* Number of the deadlines @due_ns, @due_ns + @period_ns, ... that are not after @now_ns. */
static inline u64 rtdevice_passed(u64 due_ns, u64 period_ns, u64 now_ns)
{
	return due_ns > now_ns ? 0 : div64_u64(now_ns - due_ns, period_ns) + 1;
}

/* Whether a program may request this first deadline; 0 means now. */
static inline bool rtdevice_start_valid(u64 start_ns)
{
	return start_ns <= ktime_get_ns() + RTDEVICE_START_MAX_NS;
}

/* First of the deadlines @start_ns, @start_ns + @period_ns, ... that is still ahead. */
static inline u64 rtdevice_first_ns(u64 start_ns, u64 period_ns)
{
	u64 now_ns = ktime_get_ns();

	if (!start_ns)
		return now_ns;
	return start_ns + rtdevice_passed(start_ns, period_ns, now_ns) * period_ns;
}

/* Return an interrupt number for generic_handle_irq(), or a negative error. */
static inline int rtdevice_irq_open(irq_handler_t handler, irq_handler_t thread, const char *name,
				    void *data)
{
	int irq = irq_alloc_desc(NUMA_NO_NODE), error;

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	irq_modify_status(irq, IRQ_NOREQUEST | IRQ_NOAUTOEN, IRQ_NOPROBE);
	error = request_threaded_irq(irq, handler, thread, RTDEVICE_IRQ_FLAGS, name, data);
	if (!error)
		return irq;
	irq_free_desc(irq);
	return error;
}

static inline void rtdevice_irq_close(int irq, void *data)
{
	free_irq(irq, data);
	irq_free_desc(irq);
}

#endif
