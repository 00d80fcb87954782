/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop's hardware, as the modules rtevent and rtdaq model it: an event
 * receiver, each third of whose 360 fiducials a second is a pulse, and a
 * digitizer that writes what it has sampled straight into the program's pages.
 */
#ifndef LLRF_DEVICES_H
#define LLRF_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLES_A_CHANNEL 2048
#define STAMPED_EVERY	  512 /* samples, of which the model overwrites the first STAMPED */
#define STAMPED		  4

struct devices {
	int receiver, digitizer; /* open files */
	const int16_t *samples;
	uint32_t bytes;	     /* of a pulse */
	uint64_t fiducial;   /* that the receiver told of last, from 0 */
	uint64_t next_pulse; /* that has not been asked for, from 0 */
	long lost_triggers;  /* pulses that were over before the receiver told of them */
	long lost_waveforms; /* pulses whose samples the digitizer could not keep so long */
	long wrong_blocks;   /* of the data, which are not of the pulse that was asked for */
};

/*
 * Start both, @rate_hz pulses a second. The digitizer has @channels and a readout of
 * SAMPLES_A_CHANNEL each and writes to @samples, whole pages. @priority is the loop's own;
 * the threads of the interrupts that it waits for get one more. Returns 0, or -1 with a
 * sentence on stderr.
 */
int devices_start(struct devices *devices, int16_t *samples, unsigned int channels, double rate_hz,
		  unsigned int priority);

/* Wait for the next pulse's trigger and tell when it was due. Returns false on a signal. */
bool devices_trigger(struct devices *devices, uint64_t *due_ns);

/* Wait, by one call that arms and waits, for the samples of that pulse. Returns false on a signal. */
bool devices_acquire(struct devices *devices);

#endif
