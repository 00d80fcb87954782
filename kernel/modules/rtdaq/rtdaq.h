/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What a program and the module rtdaq say to each other through /dev/rtdaq.
 *
 * An open file is one digitizer module of a chassis. RTDAQ_SETUP says what it
 * does, RTDAQ_START when its events begin. For each event the program arms it
 * and waits for its interrupt, by two calls or by one.
 *
 * An event's data are its channels, one behind the other, and behind them one
 * more of the same size, the readout. Each block of RTDAQ_BLOCK bytes begins
 * with a word: the event's number and the block's, as RTDAQ_STAMP() has it.
 */
#ifndef RTDAQ_H
#define RTDAQ_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RTDAQ_BLOCK	   1024
#define RTDAQ_SAMPLE_BYTES 2
#define RTDAQ_BYTES_MAX	   0x200000 /* of an event */
#define RTDAQ_CHANNELS_MAX 64
#define RTDAQ_FILES_MAX	   8 /* that are set up */

#define RTDAQ_STAMP(event, block) ((__u64)(event) << 16 | (block))

enum {
	RTDAQ_COPY,    /* into a buffer of the kernel's, then copied to the program's */
	RTDAQ_MAPPED,  /* into a buffer of the kernel's that the program has mapped */
	RTDAQ_SCATTER, /* into the program's own pages */
};

enum {
	RTDAQ_PER_EVENT,   /* all is transferred at once, then it interrupts */
	RTDAQ_PER_CHANNEL, /* it interrupts for the event, and for each channel asked for */
};

/* Where 0 is no value, it stands for the module's parameter. */
struct rtdaq_setup {
	__u64 period_ns; /* from event to event */
	__u64 sweep_ns;	 /* each event is later than its period by a changing part of this */
	__u64 buffer;	 /* address in the program; 0 if mapped */
	__u32 transfer;
	__u32 interrupts;
	__u32 unused; /* 0 */
	__u32 channels;
	__u32 samples; /* of a channel, each of 2 bytes */
	__u32 mb_s;    /* transferred, in 10^6 bytes a second */
	__u32 bytes;   /* returned: of an event */
	__u32 steps;   /* returned: interrupts that an event takes */
	__u32 thread;  /* returned: pid of the interrupt's thread */
	__u32 unused_too;
};

struct rtdaq_wait {
	__u64 timeout_ns;
	__u64 event;	    /* from here said by the module: its number, from 1 */
	__u64 ready_ns;	    /* when all of it was in the card */
	__u64 interrupt_ns; /* when the interrupt came */
	__u32 step;	    /* for RTDAQ_ARM_WAIT what RTDAQ_ARM takes */
	__u32 unused;
};

struct rtdaq_counts {
	__u64 events;	   /* that have happened */
	__u64 overwritten; /* of these, in the card before they were asked for */
	__u64 interrupts;
	__u64 unseen;	    /* of these, while nobody waited */
	__u64 copied_bytes; /* by the CPU */
};

#define RTDAQ_SETUP _IOWR(0xDA, 0, struct rtdaq_setup)
/*
 * When the first period begins, of CLOCK_MONOTONIC in ns: at most an hour ahead. 0 means now; any
 * other time in the past means the next one that is whole periods later.
 */
#define RTDAQ_START _IOW(0xDA, 1, __u64)
/*
 * The step: 0 asks for the next event, of which RTDAQ_PER_EVENT transfers all;
 * N asks for channel N - 1 of that event.
 */
#define RTDAQ_ARM _IOW(0xDA, 2, __u32)
/* For an interrupt that comes after this call has begun: ETIMEDOUT where none does. */
#define RTDAQ_WAIT     _IOWR(0xDA, 3, struct rtdaq_wait)
#define RTDAQ_ARM_WAIT _IOWR(0xDA, 4, struct rtdaq_wait)
#define RTDAQ_COUNTS   _IOR(0xDA, 5, struct rtdaq_counts)

#endif
