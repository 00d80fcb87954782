// SPDX-License-Identifier: GPL-2.0-only
/* The device /dev/rtevent, the interface of rtevent.h, and the module's parameters. */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "receiver.h"

static unsigned int interval_us = 2778;
module_param(interval_us, uint, 0444);
MODULE_PARM_DESC(interval_us, "mean time between two fiducials in us, from 100 us to an hour");

static unsigned int data_us = 500;
module_param(data_us, uint, 0444);
MODULE_PARM_DESC(data_us, "time from a fiducial to its data interrupt, in us; 0: none");

static unsigned int seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of random pauses around the interval; 0: constant pauses");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU that is interrupted; -1: the CPU of the starting thread");

static unsigned int priority;
module_param(priority, uint, 0444);
MODULE_PARM_DESC(priority, "SCHED_FIFO priority of the interrupt thread; 0: the kernel's default");

static int refuse(const char *name, u64 value, const char *wanted)
{
	pr_err("rtevent: %s %llu is not %s\n", name, value, wanted);
	return -EINVAL;
}

static int check_setup(const struct rtevent_setup *setup)
{
	if (setup->interval_ns < RTEVENT_INTERVAL_MIN_NS ||
	    setup->interval_ns > RTEVENT_INTERVAL_MAX_NS)
		return refuse("interval_ns", setup->interval_ns, "from 100000 to 3600000000000");
	if (setup->data_ns >= setup->interval_ns / 2)
		return refuse("data_ns", setup->data_ns, "below half of interval_ns");
	if (setup->priority > MAX_RT_PRIO - 1)
		return refuse("priority", setup->priority, "from 0 to 99");
	if (setup->cpu >= 0 && (setup->cpu >= nr_cpu_ids || !cpu_online(setup->cpu)))
		return refuse("cpu", setup->cpu, "a CPU that is online");
	if (!rtdevice_start_valid(setup->start_ns))
		return refuse("start_ns", setup->start_ns, "within an hour from now");
	if (setup->reserved)
		return refuse("reserved", setup->reserved, "0");
	return 0;
}

static struct rtevent_setup parameters(void)
{
	return (struct rtevent_setup){
		.interval_ns = interval_us * (u64)NSEC_PER_USEC,
		.data_ns = data_us * (u64)NSEC_PER_USEC,
		.seed = seed,
		.cpu = cpu,
		.priority = priority,
		.eventfd = -1,
	};
}

/* Returns 0 when an event may be available: another reader may take it first. */
static int await_event(struct receiver *receiver, bool nonblock)
{
	if (!READ_ONCE(receiver->started))
		return -EINVAL;
	if (receiver_has_events(receiver))
		return 0;
	if (nonblock)
		return -EAGAIN;
	return wait_event_interruptible(receiver->wait, receiver_has_events(receiver));
}

static ssize_t rtevent_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct receiver *receiver = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_flags & IOCB_NOWAIT || iocb->ki_filp->f_flags & O_NONBLOCK;
	struct rtevent_event event;
	ssize_t done = 0;
	int error;

	if (iov_iter_count(to) < sizeof(event))
		return -EINVAL;
	while (!done) {
		error = await_event(receiver, nonblock);
		if (error)
			return error;
		while (iov_iter_count(to) >= sizeof(event) && receiver_take(receiver, &event)) {
			if (copy_to_iter(&event, sizeof(event), to) != sizeof(event))
				return done ?: -EFAULT;
			done += sizeof(event);
		}
	}
	return done;
}

static long wait_for_event(struct file *file, void __user *place)
{
	struct receiver *receiver = file->private_data;
	struct rtevent_event event;
	int error;

	do {
		error = await_event(receiver, file->f_flags & O_NONBLOCK);
		if (error)
			return error;
	} while (!receiver_take(receiver, &event));
	return copy_to_user(place, &event, sizeof(event)) ? -EFAULT : 0;
}

static long start_once(struct receiver *receiver, const void __user *place)
{
	struct rtevent_setup setup;
	int error;

	if (copy_from_user(&setup, place, sizeof(setup)))
		return -EFAULT;
	error = check_setup(&setup);
	if (error)
		return error;
	mutex_lock(&receiver->starting);
	error = receiver->started ? -EBUSY : receiver_start(receiver, &setup);
	if (!error)
		WRITE_ONCE(receiver->started, true);
	mutex_unlock(&receiver->starting);
	return error;
}

static long tell_defaults(void __user *place)
{
	struct rtevent_setup setup = parameters();

	return copy_to_user(place, &setup, sizeof(setup)) ? -EFAULT : 0;
}

static long rtevent_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct receiver *receiver = file->private_data;
	void __user *place = (void __user *)argument;

	switch (command) {
	case RTEVENT_DEFAULTS:
		return tell_defaults(place);
	case RTEVENT_START:
		return start_once(receiver, place);
	case RTEVENT_WAIT:
		return wait_for_event(file, place);
	default:
		return -ENOTTY;
	}
}

static __poll_t rtevent_poll(struct file *file, poll_table *table)
{
	struct receiver *receiver = file->private_data;

	poll_wait(file, &receiver->wait, table);
	if (!READ_ONCE(receiver->started))
		return EPOLLERR;
	return receiver_has_events(receiver) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int rtevent_fasync(int fd, struct file *file, int on)
{
	struct receiver *receiver = file->private_data;

	return fasync_helper(fd, file, on, &receiver->fasync);
}

static int rtevent_mmap(struct file *file, struct vm_area_struct *area)
{
	struct receiver *receiver = file->private_data;

	return remap_vmalloc_range(area, receiver->map, area->vm_pgoff);
}

/* Read-only: the kernel then refuses writable mappings. */
static int rtevent_open(struct inode *inode, struct file *file)
{
	if (file->f_mode & FMODE_WRITE)
		return -EACCES;
	file->private_data = receiver_new();
	if (!file->private_data)
		return -ENOMEM;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int rtevent_release(struct inode *inode, struct file *file)
{
	receiver_free(file->private_data);
	return 0;
}

static const struct file_operations rtevent_operations = {
	.owner = THIS_MODULE,
	.open = rtevent_open,
	.release = rtevent_release,
	.read_iter = rtevent_read,
	.unlocked_ioctl = rtevent_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = rtevent_poll,
	.fasync = rtevent_fasync,
	.mmap = rtevent_mmap,
};

static struct miscdevice rtevent_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rtevent",
	.fops = &rtevent_operations,
	.mode = 0400,
};

static int __init rtevent_init(void)
{
	struct rtevent_setup setup = parameters();
	int error = check_setup(&setup);

	return error ?: misc_register(&rtevent_device);
}

static void __exit rtevent_exit(void)
{
	misc_deregister(&rtevent_device);
}

module_init(rtevent_init);
module_exit(rtevent_exit);
MODULE_DESCRIPTION("An event receiver without hardware");
MODULE_LICENSE("GPL");
