/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces between the parts of rtdaq. */
#ifndef RTDAQ_DAQ_H
#define RTDAQ_DAQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../rtdevice.h"
#include "rtdaq.h"

#define CARD_EVENTS 2 /* stored besides the one that is being read */

struct daq;
struct page;
struct user_struct;
struct vm_area_struct;

/* Moves data from the card to memory. */
struct engine {
	struct hrtimer timer; /* expires at the end of the transfer */
	int irq;
	u32 first, end; /* range of the transfer, in bytes of the event */
};

/* Destination of the data. */
struct buffer {
	void *kernel;	     /* NULL if the pages belong to the program */
	struct page **pages; /* the whole buffer, in order */
	unsigned int count;  /* number of pages */
	struct user_struct *user;
};

struct card {
	raw_spinlock_t lock; /* protects all below and the waiters */
	struct hrtimer beam;
	u64 start_ns;
	u64 events;		   /* events so far; numbers start at 1 */
	u64 gone;		   /* of these, read or overwritten */
	u64 ready_ns[CARD_EVENTS]; /* of event n at n % CARD_EVENTS, while stored */
	u64 reading;		   /* number of the event that is being read */
	u64 reading_ns;		   /* time when it was ready */
	u64 overwritten;
	bool armed; /* for the next event */
	bool busy;  /* from the transfer until its interrupt is handled */
	u32 step;   /* step that is being transferred */
};

/* One open file. */
struct daq {
	struct mutex setting; /* held during setup and start */
	bool is_set_up;	      /* written last, with release semantics */
	struct rtdaq_setup setup;
	u32 channel_bytes;
	struct buffer buffer;
	struct card card;
	struct engine engine;
	bool started;

	/* The caller holds the card's lock. */
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
 * Begin to write bytes @first to @end of the event that is being read, and interrupt at the end; at
 * once if both are equal. The caller holds the card's lock.
 */
void engine_transfer(struct daq *daq, u32 first, u32 end);

long daq_arm(struct daq *daq, const __u32 __user *from);
long daq_wait(struct daq *daq, struct rtdaq_wait __user *to, bool arm);
long daq_counts(struct daq *daq, struct rtdaq_counts __user *to);

/* The two halves of the interrupt at the end of a transfer. */
void daq_interrupt(struct daq *daq);
void daq_interrupt_thread(struct daq *daq);

#endif
