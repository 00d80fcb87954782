/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/rtloop, the interface of the module rtloop: a periodic loop in the kernel per open file.
 *
 * RTLOOP_DEFAULTS returns the setup of the module's parameters, RTLOOP_START
 * starts a loop, RTLOOP_STOP or the file's last close ends it. A page that is
 * mapped from the file shows the start of each period.
 */
#ifndef RTLOOP_H
#define RTLOOP_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	RTLOOP_TIMER,	 /* a timer callback queues work, which polls */
	RTLOOP_RELATIVE, /* sleeps for the period minus the duration of the poll */
	RTLOOP_ABSOLUTE, /* sleeps until the next deadline */
	RTLOOP_DEADLINE, /* the same in a SCHED_DEADLINE thread */
	RTLOOP_METHODS,
};

struct rtloop_setup {
	__u32 method;
	__u32 priority; /* of SCHED_FIFO; 0: SCHED_OTHER; must be 0 for timer and deadline */
	__s32 cpu;	/* -1: any */
	__u32 reserved; /* 0 */
	__u64 period_ns;
	__u64 slack_ns; /* permitted delay of a wake-up, so that the kernel can group timers */
	__u64 poll_ns;	/* duration of polling the hardware */
	/*
	 * Start of the first period on CLOCK_MONOTONIC, at most an hour ahead; 0: now. Another time
	 * in the past is advanced by whole periods.
	 */
	__u64 start_ns;
	__u64 end_ns; /* no period is due at or after this; 0: none */
};

#define RTLOOP_PERIOD_MIN_NS 100000ULL
#define RTLOOP_PERIOD_MAX_NS 1000000000ULL
#define RTLOOP_POLL_PERCENT  80 /* of the period, at most */

#define RTLOOP_MARKS 64

struct rtloop_page {
	__u64 edges; /* periods started so far; the first is edge 1 */
	/* Of edge n at n % RTLOOP_MARKS: twice its time; odd if no period ends with it. */
	__u64 mark[RTLOOP_MARKS];
	__u64 missed; /* periods that passed without a poll */
};

#define RTLOOP_DEFAULTS _IOR(0xb6, 0, struct rtloop_setup)
#define RTLOOP_START	_IOW(0xb6, 1, struct rtloop_setup)
#define RTLOOP_STOP	_IO(0xb6, 2)

#endif
