/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What a program and the driver rtevent say to each other through /dev/rtevent.
 *
 * Each open file is an event receiver of its own, which RTEVENT_START starts. Its events are taken
 * one after the other by read(), which gives as many whole struct rtevent_event as there are and
 * fit, or by RTEVENT_WAIT, which gives one; both wait for the first unless the file is
 * O_NONBLOCK. poll(), SIGIO (fcntl(2): F_SETOWN, O_ASYNC) and an eventfd tell that there are
 * some. All events can be looked at in memory too, which mmap() maps for reading.
 */
#ifndef RTEVENT_H
#define RTEVENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RTEVENT_SLOTS 256 /* events that are kept; who is later than that has lost some */

#define RTEVENT_INTERVAL_MIN_NS 100000ULL
#define RTEVENT_INTERVAL_MAX_NS 3600000000000ULL

enum {
	RTEVENT_FIDUCIAL,
	RTEVENT_DATA,
};

struct rtevent_setup {
	__u64 interval_ns; /* between two fiducials, on average */
	__u64 data_ns; /* from a fiducial to its data interrupt, below half an interval; 0: none */
	__u64 seed; /* of pauses that are half to one and a half times the interval; 0: all alike */
	__u64 start_ns; /* an interval before the first fiducial, by CLOCK_MONOTONIC; 0: now */
	__s32 cpu;	/* that is interrupted and runs the interrupt's thread; -1: the caller's */
	__u32 priority; /* of that thread, SCHED_FIFO; 0: as the kernel made it */
	__s32 eventfd;	/* that each event adds 1 to; -1: none */
	__u32 reserved; /* 0 */
};

/* All times are CLOCK_MONOTONIC. */
struct rtevent_event {
	__u64 due_ns;
	__u64 interrupt_ns; /* at the first line of its handler */
	__u64 thread_ns;    /* when the interrupt's thread found it */
	__u64 wake_ns;	    /* right before those were woken who wait for it */
	__u32 sequence;	    /* a gap tells how many were lost */
	__u32 kind;	    /* RTEVENT_FIDUCIAL or RTEVENT_DATA */
	__u64 reserved[3];
};

/*
 * Event number n is in slot[n % RTEVENT_SLOTS] from when @interrupts is past n until @interrupts
 * is past n + RTEVENT_SLOTS - 1, with all of its times from when @handled is past n. Numbers begin
 * at 0 and overflow. A copy is good if the slot's @sequence was n before and after it was made.
 */
struct rtevent_map {
	__u32 interrupts;
	__u32 handled;
	__u32 merged;  /* events that the thread found together with an earlier one */
	__u32 missed;  /* intervals that passed without a fiducial, which came too late */
	__u64 next_ns; /* when the interrupt after these is due; told after @interrupts */
	__u64 reserved[5];
	struct rtevent_event slot[RTEVENT_SLOTS];
};

/* What the module's parameters say. */
#define RTEVENT_DEFAULTS _IOR('E', 0xa0, struct rtevent_setup)
/* Once for an open file. EINVAL: the kernel's log tells why. EBUSY: it is started. */
#define RTEVENT_START _IOW('E', 0xa1, struct rtevent_setup)
/* EINVAL: the file is not started. */
#define RTEVENT_WAIT _IOR('E', 0xa2, struct rtevent_event)

#endif
