// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtloop: a driver that polls its hardware once per period, implemented in four ways.
 *
 * Three are those of "Real-time Linux Kernel drivers", parts 2 and 3: a timer
 * whose callback queues work, usleep_range() for the rest of the period, and a
 * sleep until the next deadline. The fourth is the third in a SCHED_DEADLINE
 * thread, whose CPU time the kernel reserves.
 *
 * A page that an observer maps replaces the hardware, and a wait by the clock
 * replaces the bus transfers. The observer sees the start of each period as an
 * FPGA on the bus would; showing it costs two stores.
 *
 * A loop belongs to its open file: any number of loops run at the same time, and
 * each ends when its file is closed.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

#include "../rtdevice.h"
#include "rtloop.h"

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

static const char *const methods[] = { "timer", "relative", "absolute", "deadline" };

static char *method = "absolute";
module_param(method, charp, 0444);
MODULE_PARM_DESC(method, "timer, relative, absolute or deadline");

static unsigned int period_us = 10000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between two polls, 100 to 1000000 us");

static unsigned int slack_us = 100;
module_param(slack_us, uint, 0444);
MODULE_PARM_DESC(slack_us, "timer slack: permitted delay of a wake-up, at most the period, in us");

static unsigned int poll_us = 1000;
module_param(poll_us, uint, 0444);
MODULE_PARM_DESC(poll_us, "duration of one poll, less than the period, in us");

static unsigned int priority = 80;
module_param(priority, uint, 0444);
MODULE_PARM_DESC(priority,
		 "SCHED_FIFO priority, 1 to 99, of relative and absolute; 0: SCHED_OTHER");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU of the loop; -1: any");

static struct rtloop_setup defaults;

/* The loop of an open file. */
struct rtloop {
	struct mutex lock; /* serializes start and stop */
	struct rtloop_setup setup;
	struct rtloop_page *page;
	u64 edges;
	bool begins; /* the next edge ends no period */
	bool running;
	struct task_struct *thread; /* NULL for the method timer */
	struct hrtimer timer;
	u64 due_ns; /* of the method timer */
	struct work_struct work;
};

static bool sleeps_by_thread(const struct rtloop_setup *setup)
{
	return setup->method == RTLOOP_RELATIVE || setup->method == RTLOOP_ABSOLUTE;
}

static int check(const struct rtloop_setup *setup)
{
	if (setup->method >= RTLOOP_METHODS || setup->reserved) {
		pr_err("the method %u is not in the range 0 to %u, or a reserved field is not 0\n",
		       setup->method, RTLOOP_METHODS - 1);
		return -EINVAL;
	}
	/* Closing a file waits for at most one period. */
	if (setup->period_ns < RTLOOP_PERIOD_MIN_NS || setup->period_ns > RTLOOP_PERIOD_MAX_NS) {
		pr_err("the period of %llu ns is not in the range %llu to %llu ns\n",
		       setup->period_ns, RTLOOP_PERIOD_MIN_NS, RTLOOP_PERIOD_MAX_NS);
		return -EINVAL;
	}
	if (setup->slack_ns > setup->period_ns) {
		pr_err("the slack of %llu ns is longer than the period of %llu ns\n",
		       setup->slack_ns, setup->period_ns);
		return -EINVAL;
	}
	/* More would starve its CPU, and SCHED_DEADLINE refuses a bandwidth of 100 %. */
	if (setup->poll_ns > setup->period_ns * RTLOOP_POLL_PERCENT / 100) {
		pr_err("a poll of %llu ns takes more than %u %% of the period of %llu ns\n",
		       setup->poll_ns, RTLOOP_POLL_PERCENT, setup->period_ns);
		return -EINVAL;
	}
	if (setup->priority >= MAX_RT_PRIO || (setup->priority && !sleeps_by_thread(setup))) {
		pr_err("a priority of %u is not 0%s\n", setup->priority,
		       sleeps_by_thread(setup) ? " to 99" : ", which timer and deadline need");
		return -EINVAL;
	}
	if (!rtdevice_start_valid(setup->start_ns)) {
		pr_err("a start at %llu ns is more than an hour ahead\n", setup->start_ns);
		return -EINVAL;
	}
	if (setup->cpu < -1 || setup->cpu >= (int)nr_cpu_ids ||
	    (setup->cpu >= 0 && !cpu_online(setup->cpu))) {
		pr_err("there is no CPU %d to run on\n", setup->cpu);
		return -EINVAL;
	}
	return 0;
}

/*
 * Called immediately after the clock was read: an emulator takes the time of each call, as an
 * observer of the page on another CPU takes the time of each edge.
 */
static noinline void rtloop_edge(struct rtloop *loop, u64 now_ns)
{
	struct rtloop_page *page = loop->page;
	u64 edge = ++loop->edges;

	/* An observer that sees this mark also sees the count of the edge before it, */
	smp_store_release(&page->mark[edge % RTLOOP_MARKS], now_ns << 1 | loop->begins);
	/* and one that sees this edge counted sees its mark. */
	smp_store_release(&page->edges, edge);
	loop->begins = false;
}

/* The work of the driver in each period. */
static void poll(struct rtloop *loop)
{
	u64 now_ns = ktime_get_ns(), end_ns = now_ns + loop->setup.poll_ns;

	rtloop_edge(loop, now_ns);
	while (ktime_get_ns() < end_ns)
		; /* cpu_relax() would take a real microsecond in an emulator */
}

static bool goes_on(const struct rtloop *loop, u64 due_ns)
{
	return due_ns < loop->setup.end_ns && !kthread_should_stop();
}

/* @due NULL: until the thread is stopped. */
static void sleep_until(ktime_t *due, u64 slack_ns)
{
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_stop())
		schedule_hrtimeout_range(due, slack_ns, HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
}

static void loop_relative(struct rtloop *loop)
{
	const struct rtloop_setup *setup = &loop->setup;
	ktime_t due = ns_to_ktime(setup->start_ns);
	u64 woke_ns, taken_ns;

	sleep_until(&due, 0);
	woke_ns = ktime_get_ns();
	while (goes_on(loop, woke_ns)) {
		poll(loop);
		taken_ns = ktime_get_ns() - woke_ns;
		if (!goes_on(loop, woke_ns + setup->period_ns))
			break;
		if (taken_ns < setup->period_ns) {
			unsigned long us = (unsigned long)(setup->period_ns - taken_ns) / 1000;

			usleep_range(us, us + (unsigned long)setup->slack_ns / 1000);
		}
		woke_ns = ktime_get_ns();
	}
}

static void miss(struct rtloop *loop, u64 count)
{
	WRITE_ONCE(loop->page->missed, loop->page->missed + count);
}

/*
 * Return the first deadline after @due_ns that is still ahead; those in between are missed.
 * hrtimer_forward() cannot be used: it treats a timer that expired within its slack as early.
 */
static u64 next_due_ns(struct rtloop *loop, u64 due_ns, u64 now_ns)
{
	u64 period_ns = loop->setup.period_ns;
	u64 missed = rtdevice_passed(due_ns + period_ns, period_ns, now_ns);

	miss(loop, missed);
	return due_ns + (missed + 1) * period_ns;
}

static void loop_absolute(struct rtloop *loop)
{
	const struct rtloop_setup *setup = &loop->setup;
	u64 due_ns = setup->start_ns;

	while (goes_on(loop, due_ns)) {
		ktime_t due = ns_to_ktime(due_ns);

		sleep_until(&due, setup->slack_ns);
		if (!kthread_should_stop())
			poll(loop);
		due_ns = next_due_ns(loop, due_ns, ktime_get_ns());
	}
}

static int run(void *data)
{
	struct rtloop *loop = data;

	if (loop->setup.method == RTLOOP_RELATIVE)
		loop_relative(loop);
	else
		loop_absolute(loop);
	while (!kthread_should_stop())
		sleep_until(NULL, 0);
	return 0;
}

static void work(struct work_struct *work)
{
	poll(container_of(work, struct rtloop, work));
}

static bool queue_poll(struct rtloop *loop)
{
	int where = loop->setup.cpu;

	return where < 0 ? schedule_work(&loop->work) : schedule_work_on(where, &loop->work);
}

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	struct rtloop *loop = container_of(timer, struct rtloop, timer);
	const struct rtloop_setup *setup = &loop->setup;
	u64 now_ns = ktime_get_ns();

	if (!queue_poll(loop))
		miss(loop, 1); /* the previous poll has not started */
	loop->due_ns = next_due_ns(loop, loop->due_ns, now_ns);
	if (loop->due_ns >= setup->end_ns)
		return HRTIMER_NORESTART;
	hrtimer_set_expires_range_ns(timer, ns_to_ktime(loop->due_ns), setup->slack_ns);
	return HRTIMER_RESTART;
}

static int schedule_thread(const struct rtloop *loop)
{
	const struct rtloop_setup *setup = &loop->setup;
	struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_NORMAL };

	if (setup->method == RTLOOP_DEADLINE) {
		attr.sched_policy = SCHED_DEADLINE;
		attr.sched_runtime = setup->poll_ns + setup->period_ns / 10;
		attr.sched_deadline = setup->period_ns;
		attr.sched_period = setup->period_ns;
	} else if (setup->priority) {
		attr.sched_policy = SCHED_FIFO;
		attr.sched_priority = setup->priority;
	}
	return sched_setattr_nocheck(loop->thread, &attr);
}

static int begin_thread(struct rtloop *loop)
{
	const struct rtloop_setup *setup = &loop->setup;
	int error;

	loop->thread = kthread_create(run, loop, "rtloop/%s", methods[setup->method]);
	if (IS_ERR(loop->thread))
		return PTR_ERR(loop->thread);
	if (setup->cpu >= 0)
		kthread_bind(loop->thread, setup->cpu);
	error = schedule_thread(loop);
	if (error) {
		pr_err("cannot set this scheduling policy: error %d\n", error);
		kthread_stop(loop->thread);
		return error;
	}
	wake_up_process(loop->thread);
	return 0;
}

static void begin_timer(struct rtloop *loop)
{
	const struct rtloop_setup *setup = &loop->setup;

	loop->due_ns = setup->start_ns;
	if (loop->due_ns < setup->end_ns)
		hrtimer_start_range_ns(&loop->timer, ns_to_ktime(loop->due_ns), setup->slack_ns,
				       HRTIMER_MODE_ABS);
}

static int start(struct rtloop *loop, const struct rtloop_setup *wanted)
{
	int error = check(wanted);

	if (error)
		return error;
	if (loop->running)
		return -EBUSY;
	loop->setup = *wanted;
	loop->setup.start_ns = rtdevice_first_ns(wanted->start_ns, wanted->period_ns);
	if (!wanted->end_ns)
		loop->setup.end_ns = U64_MAX;
	loop->begins = true;
	if (wanted->method == RTLOOP_TIMER)
		begin_timer(loop);
	else
		error = begin_thread(loop);
	loop->running = !error;
	return error;
}

static void stop(struct rtloop *loop)
{
	if (!loop->running)
		return;
	if (loop->setup.method == RTLOOP_TIMER) {
		hrtimer_cancel(&loop->timer);
		cancel_work_sync(&loop->work);
	} else {
		kthread_stop(loop->thread);
	}
	loop->running = false;
}

static long rtloop_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct rtloop *loop = file->private_data;
	void __user *user = (void __user *)argument;
	struct rtloop_setup setup;
	long result = 0;

	if (command == RTLOOP_DEFAULTS)
		return copy_to_user(user, &defaults, sizeof(defaults)) ? -EFAULT : 0;
	if (command != RTLOOP_START && command != RTLOOP_STOP)
		return -ENOTTY;
	if (command == RTLOOP_START && copy_from_user(&setup, user, sizeof(setup)))
		return -EFAULT;
	mutex_lock(&loop->lock);
	if (command == RTLOOP_START)
		result = start(loop, &setup);
	else
		stop(loop);
	mutex_unlock(&loop->lock);
	return result;
}

static int rtloop_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rtloop *loop = file->private_data;

	return remap_vmalloc_range(vma, loop->page, vma->vm_pgoff);
}

static int rtloop_open(struct inode *inode, struct file *file)
{
	struct rtloop *loop = kzalloc(sizeof(*loop), GFP_KERNEL);

	if (!loop)
		return -ENOMEM;
	loop->page = vmalloc_user(sizeof(*loop->page));
	if (!loop->page) {
		kfree(loop);
		return -ENOMEM;
	}
	mutex_init(&loop->lock);
	rtdevice_timer_setup(&loop->timer, expired, HRTIMER_MODE_ABS);
	INIT_WORK(&loop->work, work);
	file->private_data = loop;
	return 0;
}

static int rtloop_release(struct inode *inode, struct file *file)
{
	struct rtloop *loop = file->private_data;

	stop(loop);
	vfree(loop->page);
	kfree(loop);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = rtloop_open,
	.release = rtloop_release,
	.unlocked_ioctl = rtloop_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = rtloop_mmap,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rtloop",
	.fops = &operations,
	.mode = 0600,
};

static int __init rtloop_init(void)
{
	int number = match_string(methods, ARRAY_SIZE(methods), method);
	int error;

	if (number < 0) {
		pr_err("the method '%s' is not timer, relative, absolute or deadline\n", method);
		return -EINVAL;
	}
	defaults = (struct rtloop_setup){
		.method = number,
		.cpu = cpu,
		.period_ns = period_us * (u64)NSEC_PER_USEC,
		.slack_ns = slack_us * (u64)NSEC_PER_USEC,
		.poll_ns = poll_us * (u64)NSEC_PER_USEC,
	};
	if (sleeps_by_thread(&defaults))
		defaults.priority = priority;
	error = check(&defaults);
	return error ? error : misc_register(&device);
}

static void __exit rtloop_exit(void)
{
	misc_deregister(&device);
}

module_init(rtloop_init);
module_exit(rtloop_exit);
MODULE_DESCRIPTION("A periodic loop in the kernel, written in four ways");
MODULE_LICENSE("GPL");
