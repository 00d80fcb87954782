// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtdelay: delays of known length, to check that a measurement finds them.
 *
 * Every period_us, a thread disables interrupts, or only preemption, for
 * delay_us. A deadline within that time is missed by up to delay_us. The thread
 * has the lowest real-time priority: it preempts ordinary threads, and every
 * other real-time thread preempts it after the delay.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static unsigned int delay_us = 100;
module_param(delay_us, uint, 0444);
MODULE_PARM_DESC(delay_us, "length of each delay, at most 100000 us");

static unsigned int period_us = 7000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between the starts of two delays, in us");

static unsigned int phase_us;
module_param(phase_us, uint, 0444);
MODULE_PARM_DESC(phase_us, "time of the first delay, modulo period_us, in us");

static bool preemption;
module_param(preemption, bool, 0444);
MODULE_PARM_DESC(preemption, "disable only preemption, not interrupts");

static bool call_udelay;
module_param_named(udelay, call_udelay, bool, 0444);
MODULE_PARM_DESC(udelay, "wait with udelay(), as many drivers do, instead of reading the clock");

static struct task_struct *thread;

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

	if (preemption) {
		preempt_disable();
		spin_until(end_ns);
		preempt_enable();
	} else {
		local_irq_disable();
		spin_until(end_ns);
		local_irq_enable();
	}
}

static u64 first_ns(u64 period_ns)
{
	u64 now_ns = ktime_get_ns();
	u32 since_ns;

	div_u64_rem(now_ns, period_ns, &since_ns);
	return now_ns - since_ns + period_ns + phase_us * (u64)NSEC_PER_USEC;
}

static int run(void *unused)
{
	u64 period_ns = period_us * (u64)NSEC_PER_USEC;
	ktime_t next = ns_to_ktime(first_ns(period_ns));

	sched_set_fifo_low(current);
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
	thread = kthread_run(run, NULL, "rtdelay");
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit rtdelay_exit(void)
{
	kthread_stop(thread);
}

module_init(rtdelay_init);
module_exit(rtdelay_exit);
MODULE_DESCRIPTION("A delay of known length");
MODULE_LICENSE("GPL");
