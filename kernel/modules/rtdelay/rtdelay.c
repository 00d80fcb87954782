// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtdelay: delays of known length, to check that a measurement finds them.
 *
 * Every period_us, the CPU is kept for delay_us in one of five ways. A deadline
 * within that time is missed by up to delay_us.
 *
 * - interrupts: a thread disables interrupts;
 * - preemption: a thread disables only preemption;
 * - thread: a SCHED_FIFO thread of priority 99 runs;
 * - hardirq: the callback of a timer runs in hard interrupt context;
 * - softirq: that of another runs in soft interrupt context. On PREEMPT_RT a
 *   thread of low priority runs it, which delays no real-time thread.
 *
 * The thread of the first two has the lowest real-time priority: it preempts
 * ordinary threads, and every other real-time thread preempts it after the delay.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <uapi/linux/sched/types.h>

#include "../rtdevice.h"

static unsigned int delay_us = 100;
module_param(delay_us, uint, 0444);
MODULE_PARM_DESC(delay_us, "length of each delay, at most 100000 us");

static unsigned int period_us = 7000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between the starts of two delays, in us");

static unsigned int phase_us;
module_param(phase_us, uint, 0444);
MODULE_PARM_DESC(phase_us, "time of the first delay, modulo period_us, in us");

static char *by = "interrupts";
module_param(by, charp, 0444);
MODULE_PARM_DESC(by, "interrupts, preemption, thread, hardirq or softirq");

static bool preemption;
module_param(preemption, bool, 0444);
MODULE_PARM_DESC(preemption, "as by=preemption");

static bool call_udelay;
module_param_named(udelay, call_udelay, bool, 0444);
MODULE_PARM_DESC(udelay, "wait with udelay(), as many drivers do, instead of reading the clock");

enum { BY_INTERRUPTS, BY_PREEMPTION, BY_THREAD, BY_HARDIRQ, BY_SOFTIRQ };

static const char *const ways[] = {
	[BY_INTERRUPTS] = "interrupts", [BY_PREEMPTION] = "preemption", [BY_THREAD] = "thread",
	[BY_HARDIRQ] = "hardirq",	[BY_SOFTIRQ] = "softirq",
};

static int way;
static struct task_struct *thread;
static struct hrtimer timer;

/* One millisecond at a time: the argument of udelay() is limited on some architectures. */
static void wait_by_udelay(void)
{
	for (unsigned int us = delay_us; us; us -= min(us, 1000U))
		udelay(min(us, 1000U));
}

static void spin_until(u64 end_ns)
{
	if (call_udelay)
		wait_by_udelay();
	while (ktime_get_ns() < end_ns)
		; /* cpu_relax() would take a real microsecond in an emulator */
}

/* The end is computed first, so that an interrupt or a tracer does not lengthen the delay. */
static void delay(void)
{
	u64 end_ns = ktime_get_ns() + delay_us * (u64)NSEC_PER_USEC;

	switch (way) {
	case BY_INTERRUPTS:
		local_irq_disable();
		spin_until(end_ns);
		local_irq_enable();
		break;
	case BY_PREEMPTION:
		preempt_disable();
		spin_until(end_ns);
		preempt_enable();
		break;
	default:
		spin_until(end_ns);
	}
}

static u64 first_ns(u64 period_ns)
{
	u64 now_ns = ktime_get_ns();
	u32 since_ns;

	div_u64_rem(now_ns, period_ns, &since_ns);
	return now_ns - since_ns + period_ns + phase_us * (u64)NSEC_PER_USEC;
}

static enum hrtimer_restart on_timer(struct hrtimer *expired)
{
	delay();
	hrtimer_forward_now(expired, ns_to_ktime(period_us * (u64)NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void start_timer(void)
{
	enum hrtimer_mode mode = way == BY_HARDIRQ ? HRTIMER_MODE_ABS_HARD : HRTIMER_MODE_ABS_SOFT;

	rtdevice_timer_setup(&timer, on_timer, mode);
	hrtimer_start(&timer, ns_to_ktime(first_ns(period_us * (u64)NSEC_PER_USEC)), mode);
}

static void set_priority(void)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = MAX_RT_PRIO - 1,
	};

	if (way == BY_THREAD)
		sched_setattr_nocheck(current, &attr);
	else
		sched_set_fifo_low(current);
}

static int run(void *unused)
{
	u64 period_ns = period_us * (u64)NSEC_PER_USEC;
	ktime_t next = ns_to_ktime(first_ns(period_ns));

	set_priority();
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		delay();
		next = ktime_add_ns(next, period_ns);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int __init rtdelay_init(void)
{
	if (delay_us > 100000 || period_us > 4000000 || !period_us || period_us < 2 * delay_us) {
		pr_err("rtdelay: a period of %u us must be at least twice the delay of %u us\n",
		       period_us, delay_us);
		return -EINVAL;
	}
	way = preemption ? BY_PREEMPTION : match_string(ways, ARRAY_SIZE(ways), by);
	if (way < 0) {
		pr_err("rtdelay: '%s' is not interrupts, preemption, thread, hardirq or softirq\n",
		       by);
		return -EINVAL;
	}
	if (way == BY_HARDIRQ || way == BY_SOFTIRQ) {
		start_timer();
		return 0;
	}
	thread = kthread_run(run, NULL, "rtdelay");
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit rtdelay_exit(void)
{
	if (thread)
		kthread_stop(thread);
	else
		hrtimer_cancel(&timer);
}

module_init(rtdelay_init);
module_exit(rtdelay_exit);
MODULE_DESCRIPTION("A delay of known length");
MODULE_LICENSE("GPL");
