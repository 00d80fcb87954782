/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A digitizer as a program has it: an open file of the module rtdaq, its buffer
 * and its interrupt's thread.
 */
#ifndef RTSCOPE_DIGITIZER_H
#define RTSCOPE_DIGITIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rtdaq/rtdaq.h"

struct digitizer {
	int file;
	bool atomic; /* one call arms and waits */
	unsigned char *data;
	uint32_t bytes, steps; /* of an event */
	pid_t thread;	       /* of the interrupt */
	uint64_t timeout_ns;
};

/*
 * Open one and set it up as @setup asks but for the buffer, which is its own. Returns 0, or -1 with
 * a sentence in @error.
 */
int digitizer_open(struct digitizer *digitizer, struct rtdaq_setup setup, char *error,
		   size_t error_size);
void digitizer_close(const struct digitizer *digitizer);

/* Give the interrupt's thread this priority. Returns 0, or an error number. */
int digitizer_raise(const struct digitizer *digitizer, unsigned int priority);

/* Its first period begins at @start_ns. Returns 0, or an error number. */
int digitizer_start(const struct digitizer *digitizer, uint64_t start_ns);

/* Arm it and wait until the program has all of an event. Returns 0, or an error number. */
int digitizer_take(const struct digitizer *digitizer, struct rtdaq_wait *wait);

/* Wait until what a wait has left under way, when it ended by its timeout, is over. */
void digitizer_await_idle(const struct digitizer *digitizer);

/* How many of its blocks do not have the data of @event. */
unsigned int digitizer_errors(const struct digitizer *digitizer, uint64_t event);

/* Returns 0, or an error number. */
int digitizer_counts(const struct digitizer *digitizer, struct rtdaq_counts *counts);

/* CPU time of the interrupt's thread, which has done nothing else. */
uint64_t digitizer_thread_cpu_ns(const struct digitizer *digitizer);

#endif
