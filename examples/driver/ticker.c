// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver whose device interrupts every period_us and needs work_us of CPU time each time: in the
 * interrupt handler, or with threaded=Y in a thread of SCHED_FIFO priority 50. A timer stands for
 * the device. docs/how-to/driver.md measures both.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/version.h>

static unsigned int period_us = 1500;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "interval of the interrupts in us, at least 100");
static unsigned int work_us = 50;
module_param(work_us, uint, 0644);
MODULE_PARM_DESC(work_us, "CPU time of each interrupt's work in us, at most 1000");
static bool threaded;
module_param(threaded, bool, 0444);
MODULE_PARM_DESC(threaded, "work in a thread, not in the interrupt handler");

static struct hrtimer device;
static struct task_struct *thread;

static void work(void)
{
	udelay(min(READ_ONCE(work_us), 1000U));
}

static int work_in_thread(void *unused)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
		work();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static enum hrtimer_restart interrupt(struct hrtimer *timer)
{
	if (thread)
		wake_up_process(thread);
	else
		work();
	hrtimer_forward_now(timer, ns_to_ktime(period_us * (u64)NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static int __init ticker_init(void)
{
	period_us = max(period_us, 100U);
	if (threaded) {
		thread = kthread_run(work_in_thread, NULL, "ticker");
		if (IS_ERR(thread))
			return PTR_ERR(thread);
		sched_set_fifo(thread);
	}
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(&device, interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&device, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	device.function = interrupt;
#endif
	hrtimer_start(&device, ns_to_ktime(period_us * (u64)NSEC_PER_USEC), HRTIMER_MODE_REL_HARD);
	return 0;
}

static void __exit ticker_exit(void)
{
	hrtimer_cancel(&device);
	if (thread)
		kthread_stop(thread);
}

module_init(ticker_init);
module_exit(ticker_exit);

MODULE_DESCRIPTION("A device that interrupts at an interval");
MODULE_LICENSE("GPL");
