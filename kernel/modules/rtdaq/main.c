// SPDX-License-Identifier: GPL-2.0-only
/*
 * rtdaq: a digitizer that delivers its data to a program by several methods.
 *
 * It models the digitizer of SLAC's report on Linux in control systems (K. Kim,
 * 2013): channels of samples, 120 events a second. It lets agent/probe/daq.c
 * measure three choices of a driver's author:
 *
 * - how data reach the program: copied, mapped, or into its own pages;
 * - how often the device interrupts: for each channel, or for each event;
 * - whether arming and waiting are two calls or one. An interrupt between two
 *   calls is lost: RTDAQ_WAIT waits for one that arrives after the call, because
 *   it cannot distinguish an earlier one from that of an earlier event.
 *   RTDAQ_ARM_WAIT starts to wait before it arms, under one lock.
 *
 * All state belongs to an open file and ends with its last close. A waiter holds
 * the file open; no wait is longer than WAIT_MAX_NS (wait.c).
 */
#include <linux/compat.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "daq.h"

#define PERIOD_MIN_NS (100 * NSEC_PER_USEC)
#define PERIOD_MAX_NS (10 * NSEC_PER_SEC)
#define SAMPLES_STEP  (RTDAQ_BLOCK / RTDAQ_SAMPLE_BYTES)
#define MB_S_MAX      100000

static unsigned int period_us = 8333;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between two events, in us, unless the program sets it (8333)");

static unsigned int channels = 10;
module_param(channels, uint, 0444);
MODULE_PARM_DESC(channels, "number of channels, unless the program sets it (10)");

static unsigned int samples = 1024;
module_param(samples, uint, 0444);
MODULE_PARM_DESC(samples, "samples of a channel, unless the program sets them (1024)");

static unsigned int mb_s = 800;
module_param(mb_s, uint, 0444);
MODULE_PARM_DESC(mb_s, "transfer rate, in 10^6 bytes a second (800)");

static atomic_t files = ATOMIC_INIT(0);

static int refuse(const char *name, u64 value, const char *wanted)
{
	pr_err("rtdaq: %s is %llu, but must be %s\n", name, value, wanted);
	return -EINVAL;
}

static u32 event_bytes(const struct rtdaq_setup *setup)
{
	return (setup->channels + 1) * setup->samples * RTDAQ_SAMPLE_BYTES;
}

/* Also checks the module's parameters, as a setup that sets none of them. */
static int check(struct rtdaq_setup *setup)
{
	setup->period_ns = setup->period_ns ?: period_us * (u64)NSEC_PER_USEC;
	setup->channels = setup->channels ?: channels;
	setup->samples = setup->samples ?: samples;
	setup->mb_s = setup->mb_s ?: mb_s;
	if (setup->period_ns < PERIOD_MIN_NS || setup->period_ns > PERIOD_MAX_NS)
		return refuse("the period in ns", setup->period_ns, "from 100000 to 10000000000");
	if (setup->sweep_ns >= setup->period_ns)
		return refuse("the sweep in ns", setup->sweep_ns, "less than the period");
	if (!setup->channels || setup->channels > RTDAQ_CHANNELS_MAX)
		return refuse("the number of channels", setup->channels, "from 1 to 64");
	if (!setup->samples || setup->samples % SAMPLES_STEP)
		return refuse("the number of samples", setup->samples, "a multiple of 512");
	if (setup->samples > RTDAQ_BYTES_MAX / RTDAQ_SAMPLE_BYTES / (setup->channels + 1))
		return refuse("the number of samples", setup->samples,
			      "less: an event has at most 2 MiB, with one channel more than asked for");
	if (!setup->mb_s || setup->mb_s > MB_S_MAX)
		return refuse("mb_s", setup->mb_s, "from 1 to 100000");
	if (setup->transfer > RTDAQ_SCATTER)
		return refuse("the transfer", setup->transfer, "0, 1 or 2");
	if (setup->interrupts > RTDAQ_PER_CHANNEL)
		return refuse("the interrupts", setup->interrupts, "0 or 1");
	if (setup->unused)
		return refuse("the unused field", setup->unused, "0");
	return 0;
}

static int check_buffer(const struct rtdaq_setup *setup)
{
	if (setup->transfer == RTDAQ_MAPPED ? setup->buffer != 0 : !setup->buffer)
		return refuse("the buffer's address", setup->buffer,
			      "0 where it is mapped, and only there");
	if (setup->transfer == RTDAQ_SCATTER && offset_in_page(setup->buffer))
		return refuse("the buffer's address", setup->buffer, "the beginning of a page");
	if (setup->buffer != (unsigned long)setup->buffer)
		return refuse("the buffer's address", setup->buffer, "one of this program's");
	return 0;
}

/* Copy the setup as the program sees it. */
static u32 interrupt_thread(const struct daq *daq)
{
	struct irq_desc *desc = irq_data_to_desc(irq_get_irq_data(daq->engine.irq));

	return task_pid_vnr(desc->action->thread);
}

static int open_parts(struct daq *daq)
{
	int result;

	if (atomic_inc_return(&files) > RTDAQ_FILES_MAX) {
		atomic_dec(&files);
		pr_err("rtdaq: %u files are set up already, which is the maximum\n",
		       RTDAQ_FILES_MAX);
		return -EBUSY;
	}
	result = buffer_open(daq);
	if (result)
		goto out_files;
	result = engine_open(daq);
	if (!result)
		return 0;

	buffer_close(&daq->buffer);
out_files:
	atomic_dec(&files);
	return result;
}

static void close_parts(struct daq *daq)
{
	engine_close(daq);
	buffer_close(&daq->buffer);
	atomic_dec(&files);
}

/* If the result cannot be copied to the program, the file stays unchanged. */
static int set_up(struct daq *daq, struct rtdaq_setup *setup, struct rtdaq_setup __user *to)
{
	int result;

	if (daq->is_set_up)
		return -EBUSY;
	result = check(setup);
	if (!result)
		result = check_buffer(setup);
	if (result)
		return result;
	daq->channel_bytes = setup->samples * RTDAQ_SAMPLE_BYTES;
	setup->bytes = event_bytes(setup);
	setup->steps = setup->interrupts == RTDAQ_PER_EVENT ? 1 : setup->channels + 2;
	daq->setup = *setup;
	result = open_parts(daq);
	if (result)
		return result;
	setup->thread = interrupt_thread(daq);
	if (copy_to_user(to, setup, sizeof(*setup))) {
		close_parts(daq);
		return -EFAULT;
	}
	smp_store_release(&daq->is_set_up, true); /* pairs with is_set_up() */
	return 0;
}

static long ioctl_setup(struct daq *daq, struct rtdaq_setup __user *to)
{
	struct rtdaq_setup setup;
	int result;

	if (copy_from_user(&setup, to, sizeof(setup)))
		return -EFAULT;
	mutex_lock(&daq->setting);
	result = set_up(daq, &setup, to);
	mutex_unlock(&daq->setting);
	return result;
}

static long ioctl_start(struct daq *daq, const __u64 __user *from)
{
	long result = 0;
	u64 start_ns;

	if (copy_from_user(&start_ns, from, sizeof(start_ns)))
		return -EFAULT;
	mutex_lock(&daq->setting);
	if (!rtdevice_start_valid(start_ns))
		result = -EINVAL;
	else if (daq->started)
		result = -EBUSY;
	else
		card_start(daq, start_ns);
	daq->started |= !result;
	mutex_unlock(&daq->setting);
	return result;
}

/* If true, all fields that set_up() has written are visible. */
static bool is_set_up(const struct daq *daq)
{
	return smp_load_acquire(&daq->is_set_up); /* pairs with set_up() */
}

static long daq_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct daq *daq = file->private_data;
	void __user *user = (void __user *)argument;

	if (command == RTDAQ_SETUP)
		return ioctl_setup(daq, user);
	if (!is_set_up(daq))
		return -EINVAL;
	switch (command) {
	case RTDAQ_START:
		return ioctl_start(daq, user);
	case RTDAQ_ARM:
		return daq_arm(daq, user);
	case RTDAQ_WAIT:
		return daq_wait(daq, user, false);
	case RTDAQ_ARM_WAIT:
		return daq_wait(daq, user, true);
	case RTDAQ_COUNTS:
		return daq_counts(daq, user);
	}
	return -ENOTTY;
}

static int daq_open(struct inode *inode, struct file *file)
{
	struct daq *daq = kzalloc(sizeof(*daq), GFP_KERNEL);

	if (!daq)
		return -ENOMEM;
	mutex_init(&daq->setting);
	init_waitqueue_head(&daq->wait);
	card_init(daq);
	file->private_data = daq;
	return nonseekable_open(inode, file);
}

static int daq_release(struct inode *inode, struct file *file)
{
	struct daq *daq = file->private_data;

	if (daq->is_set_up) {
		card_stop(daq);
		close_parts(daq);
	}
	kfree(daq);
	return 0;
}

static int daq_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct daq *daq = file->private_data;

	return is_set_up(daq) ? buffer_map(daq, vma) : -EINVAL;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = daq_open,
	.release = daq_release,
	.unlocked_ioctl = daq_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = daq_mmap,
};

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rtdaq",
	.fops = &operations,
};

static int __init rtdaq_init(void)
{
	struct rtdaq_setup setup = { 0 };

	return check(&setup) ?: misc_register(&misc);
}

static void __exit rtdaq_exit(void)
{
	misc_deregister(&misc);
}

module_init(rtdaq_init);
module_exit(rtdaq_exit);
MODULE_DESCRIPTION("A digitizer that delivers its data to a program by several methods");
MODULE_LICENSE("GPL");
