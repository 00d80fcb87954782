// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtfault: delays of a CPU that come from another one, for tests of explanations.
 *
 * Every period_us, the thread rtfault/0 on CPU `from` delays CPU `on` for about delay_us:
 *
 * - lock: it holds a raw spin lock. The thread rtfault/1 on CPU `on` waits for it with interrupts
 *   disabled;
 * - ipi: it floods that CPU with calls of a function that takes 2 us;
 * - work: it queues a work item there, which disables preemption. Both CPUs may be the same.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

static unsigned int delay_us = 200;
module_param(delay_us, uint, 0444);
MODULE_PARM_DESC(delay_us, "length of each delay, at most 10000 us");

static unsigned int period_us = 7000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between the starts of two delays, in us");

static unsigned int from;
module_param(from, uint, 0444);
MODULE_PARM_DESC(from, "CPU that the delay comes from");

static unsigned int on = 1;
module_param(on, uint, 0444);
MODULE_PARM_DESC(on, "CPU that is delayed");

static char *by = "lock";
module_param(by, charp, 0444);
MODULE_PARM_DESC(by, "lock, ipi or work");

enum { BY_LOCK, BY_IPI, BY_WORK };

static const char *const ways[] = {
	[BY_LOCK] = "lock",
	[BY_IPI] = "ipi",
	[BY_WORK] = "work",
};

#define CALL_US 2

static int way;
static struct task_struct *sender, *waiter;
static DEFINE_RAW_SPINLOCK(lock);
static DECLARE_COMPLETION(held);

static void spin(unsigned int us)
{
	u64 end_ns = ktime_get_ns() + us * (u64)NSEC_PER_USEC;

	while (ktime_get_ns() < end_ns)
		;
}

static void called(void *unused)
{
	spin(CALL_US);
}

static void work(struct work_struct *unused)
{
	preempt_disable();
	spin(delay_us);
	preempt_enable();
}

static DECLARE_WORK(item, work);

static void flood(void)
{
	u64 end_ns = ktime_get_ns() + delay_us * (u64)NSEC_PER_USEC;

	while (ktime_get_ns() < end_ns)
		smp_call_function_single(on, called, NULL, 1);
}

static void hold(void)
{
	raw_spin_lock(&lock);
	complete(&held);
	spin(delay_us);
	raw_spin_unlock(&lock);
}

static int send(void *unused)
{
	ktime_t next = ktime_get();

	sched_set_fifo(current);
	for (;;) {
		next = ktime_add_us(next, period_us);
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		if (way == BY_LOCK)
			hold();
		else if (way == BY_IPI)
			flood();
		else
			queue_work_on(on, system_highpri_wq, &item);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int wait(void *unused)
{
	unsigned long flags;

	sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		if (wait_for_completion_interruptible_timeout(&held, HZ / 10) <= 0)
			continue;
		raw_spin_lock_irqsave(&lock, flags);
		raw_spin_unlock_irqrestore(&lock, flags);
	}
	return 0;
}

static struct task_struct *started(int (*body)(void *), unsigned int cpu, unsigned int number)
{
	struct task_struct *task = kthread_create(body, NULL, "rtfault/%u", number);

	if (!IS_ERR(task)) {
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	return task;
}

static int __init rtfault_init(void)
{
	way = match_string(ways, ARRAY_SIZE(ways), by);
	if (way < 0 || delay_us > 10000 || period_us < 2 * delay_us ||
	    (from == on && way != BY_WORK) || from >= nr_cpu_ids || on >= nr_cpu_ids ||
	    !cpu_online(from) || !cpu_online(on)) {
		pr_err("rtfault: '%s' of %u us every %u us from CPU %u on CPU %u is impossible\n",
		       by, delay_us, period_us, from, on);
		return -EINVAL;
	}
	if (way == BY_LOCK) {
		waiter = started(wait, on, 1);
		if (IS_ERR(waiter))
			return PTR_ERR(waiter);
	}
	sender = started(send, from, 0);
	if (!IS_ERR(sender))
		return 0;
	if (waiter)
		kthread_stop(waiter);
	return PTR_ERR(sender);
}

static void __exit rtfault_exit(void)
{
	kthread_stop(sender);
	if (waiter)
		kthread_stop(waiter);
	cancel_work_sync(&item);
}

module_init(rtfault_init);
module_exit(rtfault_exit);
MODULE_DESCRIPTION("Delays of a CPU that come from another one");
MODULE_LICENSE("GPL");
