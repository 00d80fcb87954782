/* SPDX-License-Identifier: GPL-2.0-only */
/* Every clock source that a program on this system can read. */
#ifndef RTSCOPE_CLOCK_SOURCES_H
#define RTSCOPE_CLOCK_SOURCES_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SOURCES_MAX 16

enum clock_answer {
	ANSWER_UNKNOWN = -1, /* a counter, or a process may not trace its own child here */
	ANSWER_KERNEL,
	ANSWER_USER, /* the vDSO, without entering the kernel */
};

struct clock_source {
	const char *name;
	/* A counter's ticks are in @now's tv_sec, gettimeofday's microseconds in its tv_nsec. */
	void (*read)(clockid_t clock, struct timespec *now);
	clockid_t clock;
	unsigned int unit_ns; /* of tv_nsec; 0 for a counter */
	double tick_ns;	      /* of a counter, once clock_source_calibrate() was called */
	double resolution_ns; /* as the kernel reports it; a counter's is its tick */
	enum clock_answer answer;
};

/* The sources that work here, into @sources. Returns how many. */
unsigned int clock_sources_find(struct clock_source sources[CLOCK_SOURCES_MAX]);

/* Measure the tick of a counter against CLOCK_MONOTONIC on this CPU, for 50 ms. */
void clock_source_calibrate(struct clock_source *source);

/* From reading @from to reading @to; negative when the source went back. */
int64_t clock_source_elapsed_ns(const struct clock_source *source, const struct timespec *from,
				const struct timespec *to);

#endif
