/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of rtdaq know of each other. */
#ifndef RTDAQ_DAQ_H
#define RTDAQ_DAQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../rtdevice.h"
#include "rtdaq.h"

#define CARD_EVENTS 2 /* that the card keeps beside the one that is being read */

struct daq;
struct page;
struct user_struct;
struct vm_area_struct;

/* Moves data from the card to memory. */
struct engine {
	struct hrtimer timer; /* expires when the transfer is done */
	int irq;
	u32 first, end; /* of the transfer, in bytes of the event */
};

/* Where the data go. */
struct buffer {
	void *kernel;	     /* NULL where the pages are the program's */
	struct page **pages; /* all of it, in order */
	unsigned int count;  /* of pages */
	struct user_struct *user;
};

struct card {
	raw_spinlock_t lock; /* for all below, and for what is waited for */
	struct hrtimer beam;
	u64 start_ns;
	u64 events;		   /* that have happened; their numbers count from 1 */
	u64 gone;		   /* of these, no more kept: read or overwritten */
	u64 ready_ns[CARD_EVENTS]; /* of event n at n % CARD_EVENTS, while it is kept */
	u64 reading;		   /* the one that is being read */
	u64 reading_ns;		   /* when it was ready */
	u64 overwritten;
	bool armed; /* for the next event */
	bool busy;  /* transferring, until the interrupt has been handled */
	u32 step;   /* what is being transferred */
};

/* One open file. */
struct daq {
	struct mutex setting; /* held while setting up or starting */
	bool is_set_up;	      /* written last, with release semantics */
	struct rtdaq_setup setup;
	u32 channel_bytes;
	struct buffer buffer;
	struct card card;
	struct engine engine;
	bool started;

	/* Under the card's lock. */
	bool waiting;
	bool done;
	struct rtdaq_wait result;
	u64 interrupts;
	u64 unseen;
	u64 copied_bytes;

	wait_queue_head_t wait;
};

int buffer_open(struct daq *daq);
void buffer_close(struct buffer *buffer);
int buffer_map(const struct daq *daq, struct vm_area_struct *vma);

void card_init(struct daq *daq);
void card_start(struct daq *daq, u64 start_ns);
void card_stop(struct daq *daq);
int card_arm(struct daq *daq, u32 step);
void card_disarm(struct daq *daq);

int engine_open(struct daq *daq);
void engine_close(struct daq *daq);
/*
 * Begin to write the event that is being read, from @first to @end in bytes, and interrupt when it
 * is done: at once where both are the same. The card's lock is held.
 */
void engine_transfer(struct daq *daq, u32 first, u32 end);

long daq_arm(struct daq *daq, const __u32 __user *from);
long daq_wait(struct daq *daq, struct rtdaq_wait __user *to, bool arm);
long daq_counts(struct daq *daq, struct rtdaq_counts __user *to);

/* The halves of an interrupt that says a transfer is complete. */
void daq_interrupt(struct daq *daq);
void daq_interrupt_thread(struct daq *daq);

#endif
