/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/rtloop: a periodic loop in the kernel, for each open file.
 *
 * RTLOOP_DEFAULTS tells what the module's parameters ask for, RTLOOP_START
 * starts a loop, RTLOOP_STOP ends it, and so does the file's last close. A page
 * that is mapped from the file shows the beginning of each period.
 */
#ifndef RTLOOP_H
#define RTLOOP_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	RTLOOP_TIMER,	 /* a timer's callback queues work that polls */
	RTLOOP_RELATIVE, /* sleeps for the period less the time that the poll took */
	RTLOOP_ABSOLUTE, /* sleeps until the next deadline */
	RTLOOP_DEADLINE, /* likewise, as a SCHED_DEADLINE thread */
	RTLOOP_METHODS,
};

struct rtloop_setup {
	__u32 method;
	__u32 priority; /* of SCHED_FIFO; 0: ordinary; timer and deadline take no other */
	__s32 cpu;	/* -1: any */
	__u32 reserved; /* 0 */
	__u64 period_ns;
	__u64 slack_ns; /* by which the kernel may wake it later, to bundle timers */
	__u64 poll_ns;	/* what polling the hardware takes, by the clock */
	/*
	 * Of the first period, by CLOCK_MONOTONIC, at most an hour ahead; 0: now. Any other time in
	 * the past means the next one that is whole periods later.
	 */
	__u64 start_ns;
	__u64 end_ns; /* no period is due at or after this; 0: none */
};

#define RTLOOP_PERIOD_MIN_NS 100000ULL
#define RTLOOP_PERIOD_MAX_NS 1000000000ULL
#define RTLOOP_POLL_PERCENT  80 /* of the period, at most */

#define RTLOOP_MARKS 64

struct rtloop_page {
	__u64 edges; /* periods begun so far; the first is edge 1 */
	/* Of edge n at n % RTLOOP_MARKS: twice its time, odd where no period ends with it. */
	__u64 mark[RTLOOP_MARKS];
	__u64 missed; /* periods that passed without a poll */
};

#define RTLOOP_DEFAULTS _IOR(0xb6, 0, struct rtloop_setup)
#define RTLOOP_START	_IOW(0xb6, 1, struct rtloop_setup)
#define RTLOOP_STOP	_IO(0xb6, 2)

#endif
