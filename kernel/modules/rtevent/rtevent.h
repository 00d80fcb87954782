/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The interface of the module rtevent, /dev/rtevent.
 *
 * Each open file is an event receiver of its own, which RTEVENT_START starts. read() returns as
 * many whole struct rtevent_event as are available and fit, RTEVENT_WAIT returns one; both wait for
 * the first event unless the file is O_NONBLOCK. poll(), SIGIO (fcntl(2): F_SETOWN, O_ASYNC) and an
 * eventfd report available events. mmap() maps all events for reading.
 */
#ifndef RTEVENT_H
#define RTEVENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RTEVENT_SLOTS 256 /* events that are stored; a slower reader loses events */

#define RTEVENT_INTERVAL_MIN_NS 100000ULL
#define RTEVENT_INTERVAL_MAX_NS 3600000000000ULL

enum {
	RTEVENT_FIDUCIAL,
	RTEVENT_DATA,
};

struct rtevent_setup {
	__u64 interval_ns; /* mean time between two fiducials */
	__u64 data_ns;	/* delay of a fiducial's data interrupt, below half an interval; 0: none */
	__u64 seed;	/* of random pauses, 0.5 to 1.5 times the interval; 0: constant pauses */
	__u64 start_ns; /* one interval before the first fiducial, CLOCK_MONOTONIC; 0: now */
	__s32 cpu;	/* that is interrupted and runs the interrupt thread; -1: the caller's */
	__u32 priority; /* SCHED_FIFO priority of that thread; 0: the kernel's default */
	__s32 eventfd;	/* incremented by each event; -1: none */
	__u32 reserved; /* 0 */
};

/* All times are CLOCK_MONOTONIC. */
struct rtevent_event {
	__u64 due_ns;
	__u64 interrupt_ns; /* first statement of its handler */
	__u64 thread_ns;    /* when the interrupt thread found it */
	__u64 wake_ns;	    /* immediately before its waiters were woken */
	__u32 sequence;	    /* a gap is the number of lost events */
	__u32 kind;	    /* RTEVENT_FIDUCIAL or RTEVENT_DATA */
	__u64 reserved[3];
};

/*
 * Event n is in slot[n % RTEVENT_SLOTS] while @interrupts is above n and at most
 * n + RTEVENT_SLOTS - 1; its times are complete once @handled is above n. Numbers start at 0 and
 * wrap around. A copy is valid if the slot's @sequence was n before and after copying.
 */
struct rtevent_map {
	__u32 interrupts;
	__u32 handled;
	__u32 merged;  /* events that the thread handled together with an earlier one */
	__u32 missed;  /* intervals without a fiducial, because the timer was late */
	__u64 next_ns; /* deadline of the next interrupt; written after @interrupts */
	__u64 reserved[5];
	struct rtevent_event slot[RTEVENT_SLOTS];
};

/* Return the setup of the module's parameters. */
#define RTEVENT_DEFAULTS _IOR('E', 0xa0, struct rtevent_setup)
/* Once for each open file. EINVAL: the kernel log has the reason. EBUSY: already started. */
#define RTEVENT_START _IOW('E', 0xa1, struct rtevent_setup)
/* EINVAL: the file is not started. */
#define RTEVENT_WAIT _IOR('E', 0xa2, struct rtevent_event)

#endif
