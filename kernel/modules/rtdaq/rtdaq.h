/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The interface of the module rtdaq, /dev/rtdaq.
 *
 * An open file is one digitizer module of a chassis. RTDAQ_SETUP configures it,
 * RTDAQ_START sets the time of its first event. For each event the program arms
 * it and waits for its interrupt, by two calls or by one.
 *
 * The data of an event are its channels, one after the other, followed by the
 * readout, which has the size of a channel. Each block of RTDAQ_BLOCK bytes
 * begins with a word that contains the numbers of event and block, RTDAQ_STAMP().
 */
#ifndef RTDAQ_H
#define RTDAQ_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RTDAQ_BLOCK	   1024
#define RTDAQ_SAMPLE_BYTES 2
#define RTDAQ_BYTES_MAX	   0x200000 /* maximum size of an event */
#define RTDAQ_CHANNELS_MAX 64
#define RTDAQ_FILES_MAX	   8 /* maximum number of files that are set up */

#define RTDAQ_STAMP(event, block) ((__u64)(event) << 16 | (block))

enum {
	RTDAQ_COPY,    /* into a kernel buffer, then copied to the program */
	RTDAQ_MAPPED,  /* into a kernel buffer that the program has mapped */
	RTDAQ_SCATTER, /* into the program's own pages */
};

enum {
	RTDAQ_PER_EVENT,   /* one transfer and one interrupt for each event */
	RTDAQ_PER_CHANNEL, /* an interrupt for the event, and one for each requested channel */
};

/* 0 selects the module parameter, unless 0 is a valid value. */
struct rtdaq_setup {
	__u64 period_ns; /* time between two events */
	__u64 sweep_ns;	 /* each event is delayed by a varying part of this */
	__u64 buffer;	 /* address of the program's buffer; 0 if mapped */
	__u32 transfer;
	__u32 interrupts;
	__u32 unused; /* 0 */
	__u32 channels;
	__u32 samples; /* per channel, of 2 bytes each */
	__u32 mb_s;    /* transfer rate, in 10^6 bytes a second */
	__u32 bytes;   /* returned: size of an event */
	__u32 steps;   /* returned: interrupts per event */
	__u32 thread;  /* returned: PID of the interrupt thread */
	__u32 unused_too;
};

struct rtdaq_wait {
	__u64 timeout_ns;
	__u64 event;	    /* returned, as all below: its number, from 1 */
	__u64 ready_ns;	    /* time when the card had all of it */
	__u64 interrupt_ns; /* time of the interrupt */
	__u32 step;	    /* of RTDAQ_ARM_WAIT: the argument of RTDAQ_ARM */
	__u32 unused;
};

struct rtdaq_counts {
	__u64 events;	   /* events so far */
	__u64 overwritten; /* of these, overwritten in the card before they were requested */
	__u64 interrupts;
	__u64 unseen;	    /* of these, without a waiter */
	__u64 copied_bytes; /* bytes that the CPU copied */
};

#define RTDAQ_SETUP _IOWR(0xDA, 0, struct rtdaq_setup)
/*
 * Start of the first period on CLOCK_MONOTONIC, in ns, at most an hour ahead. 0 means now; another
 * time in the past is advanced by whole periods.
 */
#define RTDAQ_START _IOW(0xDA, 1, __u64)
/*
 * The step: 0 requests the next event, all of it with RTDAQ_PER_EVENT; N requests
 * channel N - 1 of that event.
 */
#define RTDAQ_ARM _IOW(0xDA, 2, __u32)
/* Wait for an interrupt that arrives after this call. ETIMEDOUT: none arrived. */
#define RTDAQ_WAIT     _IOWR(0xDA, 3, struct rtdaq_wait)
#define RTDAQ_ARM_WAIT _IOWR(0xDA, 4, struct rtdaq_wait)
#define RTDAQ_COUNTS   _IOR(0xDA, 5, struct rtdaq_counts)

#endif
