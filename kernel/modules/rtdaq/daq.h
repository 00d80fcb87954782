/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of rtdaq know of each other. */
#ifndef RTDAQ_DAQ_H
#define RTDAQ_DAQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/wait.h>

#include "rtdaq.h"

#define CARD_EVENTS 2 /* that the card keeps beside the one that is being read */

struct daq;
struct page;
struct user_struct;
struct vm_area_struct;

/* What moves data from the card to memory. */
struct engine {
	int (*open)(struct daq *daq); /* tells its line */
	void (*close)(struct daq *daq);
	/*
	 * Begin to write the event that is being read, from @first to @end in bytes, and interrupt
	 * when it is done: at once where both are the same. The card's lock is held.
	 */
	void (*transfer)(struct daq *daq, u32 first, u32 end);
};

extern const struct engine model_engine;

#ifdef CONFIG_PCI
extern const struct engine edu_engine;
int edu_register(void);
void edu_unregister(void);
#define EDU_ENGINE (&edu_engine)
#else
#define EDU_ENGINE NULL
static inline int edu_register(void)
{
	return 0;
}

static inline void edu_unregister(void)
{
}
#endif

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
	struct mutex setting;	     /* of one at a time that sets up or starts */
	const struct engine *engine; /* NULL before it is set up */
	void *device;		     /* the engine's own */
	int line;		     /* that it interrupts by */
	struct rtdaq_setup setup;
	u32 channel_bytes;
	struct buffer buffer;
	struct card card;
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

static inline void timer_init(struct hrtimer *timer,
			      enum hrtimer_restart (*function)(struct hrtimer *))
{
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer->function = function;
#endif
}

int buffer_open(struct daq *daq);
void buffer_close(struct buffer *buffer);
int buffer_map(const struct daq *daq, struct vm_area_struct *vma);

void card_init(struct daq *daq);
void card_start(struct daq *daq, u64 start_ns);
void card_stop(struct daq *daq);
int card_arm(struct daq *daq, u32 step);
void card_disarm(struct daq *daq);

long daq_arm(struct daq *daq, const __u32 __user *from);
long daq_wait(struct daq *daq, struct rtdaq_wait __user *to, bool arm);
long daq_counts(struct daq *daq, struct rtdaq_counts __user *to);

/* The halves of an interrupt that says a transfer is complete. */
void daq_interrupt(struct daq *daq);
void daq_interrupt_thread(struct daq *daq);

#endif
