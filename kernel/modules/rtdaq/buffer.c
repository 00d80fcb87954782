// SPDX-License-Identifier: GPL-2.0-only
/*
 * The destination of an event's data: the three kinds of transfer.
 *
 * copy and mapped use one contiguous kernel buffer, as a device requires that
 * accepts a single address. scatter uses the program's own pages: they are
 * pinned once, so that an event needs no further work, and count towards the
 * user's limit of locked memory until the file is closed.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "daq.h"

static int allocate(struct buffer *buffer)
{
	size_t size = (size_t)buffer->count << PAGE_SHIFT;

	buffer->kernel = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO);
	if (!buffer->kernel)
		return -ENOMEM;
	for (unsigned int i = 0; i < buffer->count; i++)
		buffer->pages[i] = virt_to_page(buffer->kernel + ((size_t)i << PAGE_SHIFT));
	return 0;
}

static int charge(struct buffer *buffer)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	buffer->user = get_uid(current_user());
	if (atomic_long_add_return(buffer->count, &buffer->user->locked_vm) <= limit ||
	    capable(CAP_IPC_LOCK))
		return 0;
	pr_err("rtdaq: the limit of locked memory (ulimit -l) is too low for %u pages\n",
	       buffer->count);
	return -ENOMEM;
}

static void uncharge(struct buffer *buffer)
{
	if (!buffer->user)
		return;
	atomic_long_sub(buffer->count, &buffer->user->locked_vm);
	free_uid(buffer->user);
	buffer->user = NULL;
}

static int pin(struct buffer *buffer, unsigned long address)
{
	int pinned, result = charge(buffer);

	if (result)
		return result;
	pinned = pin_user_pages_fast(address, buffer->count, FOLL_WRITE | FOLL_LONGTERM,
				     buffer->pages);
	if (pinned == buffer->count)
		return 0;
	if (pinned > 0)
		unpin_user_pages(buffer->pages, pinned);
	pr_err("rtdaq: the %u pages of the buffer at %#lx cannot be locked: check that all are mapped and writable\n",
	       buffer->count, address);
	return pinned < 0 ? pinned : -EFAULT;
}

int buffer_open(struct daq *daq)
{
	struct buffer *buffer = &daq->buffer;
	int result;

	buffer->count = DIV_ROUND_UP(daq->setup.bytes, PAGE_SIZE);
	buffer->pages = kcalloc(buffer->count, sizeof(*buffer->pages), GFP_KERNEL);
	if (!buffer->pages)
		return -ENOMEM;
	if (daq->setup.transfer == RTDAQ_SCATTER)
		result = pin(buffer, daq->setup.buffer);
	else
		result = allocate(buffer);
	if (!result)
		return 0;
	uncharge(buffer);
	kfree(buffer->pages);
	buffer->pages = NULL;
	return result;
}

void buffer_close(struct buffer *buffer)
{
	if (!buffer->pages)
		return;
	if (buffer->kernel)
		free_pages_exact(buffer->kernel, (size_t)buffer->count << PAGE_SHIFT);
	else
		unpin_user_pages_dirty_lock(buffer->pages, buffer->count, true);
	uncharge(buffer);
	kfree(buffer->pages);
	*buffer = (struct buffer){ 0 };
}

int buffer_map(const struct daq *daq, struct vm_area_struct *vma)
{
	const struct buffer *buffer = &daq->buffer;
	unsigned long size = vma->vm_end - vma->vm_start;

	if (daq->setup.transfer != RTDAQ_MAPPED || vma->vm_pgoff ||
	    size > (unsigned long)buffer->count << PAGE_SHIFT || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	return remap_pfn_range(vma, vma->vm_start, page_to_pfn(buffer->pages[0]), size,
			       vma->vm_page_prot);
}
