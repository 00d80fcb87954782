/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of every measurement: CLOCK_MONOTONIC in nanoseconds. */
#ifndef RTSCOPE_CLOCK_H
#define RTSCOPE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

static inline uint64_t timespec_to_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NSEC_PER_SEC + (uint64_t)ts->tv_nsec;
}

static inline struct timespec ns_to_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC),
	};
}

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return timespec_to_ns(&ts);
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* 0 if @to_ns is before @from_ns: the clocks of two CPUs, or of kernel and device, may differ. */
static inline uint64_t clock_elapsed_ns(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* 0 once @due_ns has come; an error number when the sleep was ended. */
static inline int clock_sleep_until(uint64_t due_ns)
{
	struct timespec due = ns_to_timespec(due_ns);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

/* Compute until this thread has used @cpu_ns more of CPU time. */
static inline void clock_work(uint64_t cpu_ns)
{
	uint64_t end_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

#endif
