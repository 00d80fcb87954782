// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU's PCI device edu (docs/specs/edu.rst there) as the digitizer's engine.
 *
 * It has what a real one has and the model has not: a bus address for each page,
 * which it gets by dma_map_sgtable(), caches and bounce buffers to be kept in
 * step, and an interrupt by message. Its memory of 4 KiB is reached by DMA
 * alone. So what it is to have digitized goes there first, from a page of this
 * module's, and then where the program wants it. Each way takes it 100 ms: it is
 * for showing the path, not for 120 events a second. Half of its memory is used,
 * for QEMU 7.2 ends itself where a transfer goes to that memory's last byte.
 *
 * It reaches 28 bits of addresses. Where the machine has more memory, the
 * program's pages are mapped only where the kernel has bounce buffers.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "daq.h"

#define EDU_VENDOR 0x1234
#define EDU_DEVICE 0x11e8
#define EDU_BITS   28

#define REG_STATUS 0x24
#define REG_RAISE  0x60
#define REG_ACK	   0x64
#define REG_SOURCE 0x80
#define REG_TARGET 0x88
#define REG_COUNT  0x90
#define REG_START  0x98

#define START	     0x1
#define FROM_EDU     0x2
#define INTERRUPTS   0x4
#define STATUS_DMA   0x100
#define STATUS_EVENT 0x1 /* of ours: what was raised without a transfer */

#define EDU_MEMORY	0x40000
#define EDU_MEMORY_SIZE 2048u
#define EDU_STOP_MS	500

struct edu {
	struct pci_dev *pci;
	void __iomem *registers;
	u64 *digitized; /* a block's stamps, on their way to the device's memory */
	dma_addr_t digitized_at;
	struct daq *daq;       /* who has it; NULL: nobody */
	struct sg_table table; /* of the buffer */
	dma_addr_t *page_at;   /* bus address of each of its pages */
	u32 at, piece, end;    /* of the transfer: what is under way, and all of it */
	bool loading;	       /* into the device's memory, not yet out of it */
};

static DEFINE_SPINLOCK(lock); /* of who has it */
static DECLARE_WAIT_QUEUE_HEAD(given_back);
static struct edu *present;

static void start(const struct edu *edu, u32 source, u32 target, u32 flags)
{
	writel(source, edu->registers + REG_SOURCE);
	writel(target, edu->registers + REG_TARGET);
	writel(edu->piece, edu->registers + REG_COUNT);
	writel(flags | START | INTERRUPTS, edu->registers + REG_START);
}

/* Digitize what comes next: as much as the memory takes, and within one page. */
static void load_piece(struct edu *edu)
{
	u32 page_left = PAGE_SIZE - offset_in_page(edu->at);

	edu->piece = min3(edu->end - edu->at, page_left, EDU_MEMORY_SIZE);
	for (u32 at = 0; at < edu->piece; at += RTDAQ_BLOCK)
		edu->digitized[at / sizeof(u64)] =
			RTDAQ_STAMP(edu->daq->card.reading, (edu->at + at) / RTDAQ_BLOCK);
	edu->loading = true;
	start(edu, edu->digitized_at, EDU_MEMORY, 0);
}

static void store_piece(struct edu *edu)
{
	edu->loading = false;
	start(edu, EDU_MEMORY, edu->page_at[edu->at >> PAGE_SHIFT] + offset_in_page(edu->at),
	      FROM_EDU);
}

static void edu_transfer(struct daq *daq, u32 first, u32 end)
{
	struct edu *edu = daq->device;

	edu->at = first;
	edu->end = end;
	if (first == end) {
		writel(STATUS_EVENT, edu->registers + REG_RAISE);
		return;
	}
	dma_sync_sgtable_for_device(&edu->pci->dev, &edu->table, DMA_FROM_DEVICE);
	load_piece(edu);
}

/* Whether all of the transfer is done. The card is busy, so nobody else changes it. */
static bool go_on(struct edu *edu)
{
	if (edu->loading) {
		store_piece(edu);
		return false;
	}
	edu->at += edu->piece;
	if (edu->at < edu->end)
		load_piece(edu);
	return edu->at >= edu->end;
}

static irqreturn_t handle(int line, void *data)
{
	struct daq *daq = data;
	struct edu *edu = daq->device;
	u32 status = readl(edu->registers + REG_STATUS);

	if (!(status & (STATUS_DMA | STATUS_EVENT)))
		return IRQ_NONE;
	writel(status, edu->registers + REG_ACK);
	if (status & STATUS_DMA && !go_on(edu))
		return IRQ_HANDLED;
	daq_interrupt(daq);
	return IRQ_WAKE_THREAD;
}

static irqreturn_t handle_in_thread(int line, void *data)
{
	struct daq *daq = data;
	struct edu *edu = daq->device;

	dma_sync_sgtable_for_cpu(&edu->pci->dev, &edu->table, DMA_FROM_DEVICE);
	daq_interrupt_thread(daq);
	return IRQ_HANDLED;
}

/*
 * Mapping what is beyond its reach makes the kernel warn of a driver's fault, unless there are
 * bounce buffers or an IOMMU.
 */
static bool reaches(const struct edu *edu, const struct buffer *buffer)
{
	struct device *dev = &edu->pci->dev;

	if (device_iommu_mapped(dev) || dma_max_mapping_size(dev) != SIZE_MAX)
		return true;
	for (unsigned int i = 0; i < buffer->count; i++) {
		if (page_to_phys(buffer->pages[i]) >> EDU_BITS)
			return false;
	}
	return true;
}

static int map_pages(struct edu *edu, const struct buffer *buffer)
{
	struct sg_dma_page_iter page;
	unsigned int i = 0;
	int result;

	if (!reaches(edu, buffer)) {
		pr_err("rtdaq: edu does not reach this buffer: it takes memory below 256 MiB, or a kernel with bounce buffers (swiotlb=force)\n");
		return -EIO;
	}
	edu->page_at = kcalloc(buffer->count, sizeof(*edu->page_at), GFP_KERNEL);
	if (!edu->page_at)
		return -ENOMEM;
	result = sg_alloc_table_from_pages(&edu->table, buffer->pages, buffer->count, 0,
					   (unsigned long)buffer->count << PAGE_SHIFT, GFP_KERNEL);
	if (result)
		goto free_addresses;
	result = dma_map_sgtable(&edu->pci->dev, &edu->table, DMA_FROM_DEVICE, 0);
	if (result)
		goto free_table;
	for_each_sgtable_dma_page(&edu->table, &page, 0) edu->page_at[i++] =
		sg_page_iter_dma_address(&page);
	return 0;
free_table:
	sg_free_table(&edu->table);
free_addresses:
	kfree(edu->page_at);
	return result;
}

static void unmap_pages(struct edu *edu)
{
	dma_unmap_sgtable(&edu->pci->dev, &edu->table, DMA_FROM_DEVICE, 0);
	sg_free_table(&edu->table);
	kfree(edu->page_at);
}

static int take(struct daq *daq)
{
	int result = -ENODEV;

	spin_lock(&lock);
	if (!present) {
		pr_err("rtdaq: there is no PCI device edu (QEMU: -device edu), or no memory below 256 MiB is kept for it\n");
	} else if (present->daq) {
		pr_err("rtdaq: another file has the device edu\n");
		result = -EBUSY;
	} else {
		present->daq = daq;
		daq->device = present;
		result = 0;
	}
	spin_unlock(&lock);
	return result;
}

static void give_back(struct edu *edu)
{
	spin_lock(&lock);
	edu->daq = NULL;
	spin_unlock(&lock);
	wake_up(&given_back);
}

static int edu_open(struct daq *daq)
{
	struct edu *edu;
	int result = take(daq);

	if (result)
		return result;
	edu = daq->device;
	result = map_pages(edu, &daq->buffer);
	if (result)
		goto give_back;
	daq->line = pci_irq_vector(edu->pci, 0);
	result = request_threaded_irq(daq->line, handle, handle_in_thread, IRQF_NO_THREAD, "rtdaq",
				      daq);
	if (!result)
		return 0;
	unmap_pages(edu);
give_back:
	give_back(edu);
	return result;
}

/* What the device has begun it cannot be told to leave, and pages must outlive it. */
static void edu_close(struct daq *daq)
{
	struct edu *edu = daq->device;

	free_irq(daq->line, daq);
	for (int ms = 0; ms < EDU_STOP_MS && readl(edu->registers + REG_START) & START; ms += 20)
		msleep(20);
	writel(readl(edu->registers + REG_STATUS), edu->registers + REG_ACK);
	unmap_pages(edu);
	give_back(edu);
}

const struct engine edu_engine = {
	.open = edu_open,
	.close = edu_close,
	.transfer = edu_transfer,
};

/* All that it takes is the device's own and goes with it. */
static int edu_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct edu *edu = devm_kzalloc(&pci->dev, sizeof(*edu), GFP_KERNEL);
	int result;

	if (!edu)
		return -ENOMEM;
	edu->pci = pci;
	result = pcim_enable_device(pci) ?: pcim_iomap_regions(pci, BIT(0), "rtdaq");
	if (result)
		return result;
	edu->registers = pcim_iomap_table(pci)[0];
	result = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(EDU_BITS));
	if (result)
		return result;
	edu->digitized =
		dmam_alloc_coherent(&pci->dev, EDU_MEMORY_SIZE, &edu->digitized_at, GFP_KERNEL);
	if (!edu->digitized)
		return -ENOMEM;
	pci_set_master(pci);
	result = pci_alloc_irq_vectors(pci, 1, 1, PCI_IRQ_MSI);
	if (result < 0)
		return result;
	pci_set_drvdata(pci, edu);
	spin_lock(&lock);
	if (!present)
		present = edu;
	spin_unlock(&lock);
	return 0;
}

static bool is_free(const struct edu *edu)
{
	bool free;

	spin_lock(&lock);
	free = !edu->daq;
	if (free && present == edu)
		present = NULL;
	spin_unlock(&lock);
	return free;
}

/* Waits for the file that has it to be closed. */
static void edu_remove(struct pci_dev *pci)
{
	wait_event(given_back, is_free(pci_get_drvdata(pci)));
	pci_free_irq_vectors(pci);
}

static const struct pci_device_id ids[] = { { PCI_DEVICE(EDU_VENDOR, EDU_DEVICE) }, {} };
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver driver = {
	.name = "rtdaq",
	.id_table = ids,
	.probe = edu_probe,
	.remove = edu_remove,
};

int edu_register(void)
{
	return pci_register_driver(&driver);
}

void edu_unregister(void)
{
	pci_unregister_driver(&driver);
}
