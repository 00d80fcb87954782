// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every clock source that a program on this system can read, and whether the kernel or the vDSO
 * answers.
 *
 * The answer is observed, not guessed from the time it takes: a child reads the source a few times
 * under ptrace, which stops it at each system call.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/clock_sources.h"
#include "base/counter.h"
#include "proc/vdso.h"

#define CALIBRATION_NS (50 * NSEC_PER_MSEC)
#define TRACED_READS   8
#define CHILD_FAILED   1

static int (*vdso_clock_gettime)(clockid_t clock, struct timespec *now);
static int (*vdso_gettimeofday)(struct timeval *now, void *zone);

static void read_vdso(clockid_t clock, struct timespec *now)
{
	vdso_clock_gettime(clock, now);
}

static void read_syscall(clockid_t clock, struct timespec *now)
{
	syscall(SYS_clock_gettime, clock, now);
}

static void read_vdso_timeval(clockid_t clock, struct timespec *now)
{
	struct timeval time;

	(void)clock;
	vdso_gettimeofday(&time, NULL);
	*now = (struct timespec){ .tv_sec = time.tv_sec, .tv_nsec = time.tv_usec };
}

static void read_syscall_timeval(clockid_t clock, struct timespec *now)
{
	struct timeval time;

	(void)clock;
	syscall(SYS_gettimeofday, &time, NULL);
	*now = (struct timespec){ .tv_sec = time.tv_sec, .tv_nsec = time.tv_usec };
}

#ifdef COUNTER_NAME
static void read_counter(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = (time_t)counter_read();
	now->tv_nsec = 0;
}
#endif

static void fail_child(int number)
{
	(void)number;
	_exit(CHILD_FAILED);
}

static __attribute__((noreturn)) void child_reads(const struct clock_source *source,
						  unsigned int reads, bool traced)
{
	static const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };
	struct timespec first, now;

	signal(SIGILL, fail_child);
	signal(SIGSEGV, fail_child);
	if (traced) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(CHILD_FAILED);
		raise(SIGSTOP);
		while (reads--)
			source->read(source->clock, &now);
		_exit(0);
	}
	source->read(source->clock, &first);
	nanosleep(&pause, NULL);
	source->read(source->clock, &now);
	_exit(now.tv_sec == first.tv_sec && source->unit_ns == 0 ? CHILD_FAILED : 0);
}

/* How often a child that reads @source @reads times is stopped by a system call; -1: unknown. */
static int count_system_calls(const struct clock_source *source, unsigned int reads)
{
	int status, signal, stops = 0;
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (!child)
		child_reads(source, reads, true);
	while (waitpid(child, &status, 0) == child) {
		if (WIFEXITED(status))
			return WEXITSTATUS(status) ? -1 : stops;
		if (!WIFSTOPPED(status))
			return -1;
		signal = WSTOPSIG(status);
		stops += signal == SIGTRAP;
		if (signal == SIGTRAP || signal == SIGSTOP)
			signal = 0;
		ptrace(PTRACE_SYSCALL, child, NULL, signal);
	}
	return -1;
}

static enum clock_answer find_answer(const struct clock_source *source)
{
	int without, with;

	if (source->read == read_syscall || source->read == read_syscall_timeval)
		return ANSWER_KERNEL;
	without = count_system_calls(source, 0);
	with = count_system_calls(source, TRACED_READS);
	if (without < 0 || with < 0)
		return ANSWER_UNKNOWN;
	return with > without ? ANSWER_KERNEL : ANSWER_USER;
}

/* Whether a child survives reading @source, and a counter moves. */
static bool works(const struct clock_source *source)
{
	struct timespec now;
	int status;
	pid_t child;

	if (source->unit_ns == 1 && syscall(SYS_clock_gettime, source->clock, &now))
		return false;
	child = fork();
	if (!child)
		child_reads(source, 1, false);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static void add(struct clock_source *sources, unsigned int *count, struct clock_source source)
{
	struct timespec resolution;

	if (!works(&source))
		return;
	source.answer = source.unit_ns ? find_answer(&source) : ANSWER_UNKNOWN;
	source.resolution_ns = source.unit_ns;
	if (source.unit_ns == 1 && !syscall(SYS_clock_getres, source.clock, &resolution))
		source.resolution_ns = (double)timespec_to_ns(&resolution);
	sources[(*count)++] = source;
}

unsigned int clock_sources_find(struct clock_source sources[CLOCK_SOURCES_MAX])
{
	static const char *const gettime_names[] = { "__vdso_clock_gettime",
						     "__kernel_clock_gettime", NULL };
	static const char *const timeval_names[] = { "__vdso_gettimeofday", "__kernel_gettimeofday",
						     NULL };
	static const struct {
		const char *name;
		clockid_t clock;
	} clocks[] = {
		{ "CLOCK_REALTIME", CLOCK_REALTIME },
		{ "CLOCK_REALTIME_COARSE", CLOCK_REALTIME_COARSE },
		{ "CLOCK_MONOTONIC", CLOCK_MONOTONIC },
		{ "CLOCK_MONOTONIC_COARSE", CLOCK_MONOTONIC_COARSE },
		{ "CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW },
		{ "CLOCK_BOOTTIME", CLOCK_BOOTTIME },
		{ "CLOCK_TAI", CLOCK_TAI },
	};
	unsigned int count = 0;

	vdso_clock_gettime = vdso_function(gettime_names);
	vdso_gettimeofday = vdso_function(timeval_names);

	add(sources, &count,
	    (struct clock_source){
		    .name = "gettimeofday",
		    .read = vdso_gettimeofday ? read_vdso_timeval : read_syscall_timeval,
		    .clock = CLOCK_REALTIME,
		    .unit_ns = NSEC_PER_USEC,
	    });
	for (unsigned int i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		add(sources, &count,
		    (struct clock_source){
			    .name = clocks[i].name,
			    .read = vdso_clock_gettime ? read_vdso : read_syscall,
			    .clock = clocks[i].clock,
			    .unit_ns = 1,
		    });
	add(sources, &count,
	    (struct clock_source){
		    .name = "CLOCK_MONOTONIC:syscall",
		    .read = read_syscall,
		    .clock = CLOCK_MONOTONIC,
		    .unit_ns = 1,
	    });
#ifdef COUNTER_NAME
	add(sources, &count,
	    (struct clock_source){
		    .name = COUNTER_NAME,
		    .read = read_counter,
	    });
#endif
	return count;
}

/* Between two readings of a source, in its own units; a narrow counter may have wrapped. */
static int64_t elapsed_ticks(const struct timespec *from, const struct timespec *to)
{
	uint64_t ticks = (uint64_t)to->tv_sec - (uint64_t)from->tv_sec;

#if defined(COUNTER_BITS) && COUNTER_BITS == 32
	return (int32_t)ticks;
#else
	return (int64_t)ticks;
#endif
}

void clock_source_calibrate(struct clock_source *source)
{
	static const struct timespec pause = { .tv_nsec = CALIBRATION_NS };
	struct timespec from, to;
	uint64_t from_ns, to_ns;
	int64_t ticks;

	if (source->unit_ns)
		return;
	from_ns = clock_now_ns();
	source->read(source->clock, &from);
	nanosleep(&pause, NULL);
	to_ns = clock_now_ns();
	source->read(source->clock, &to);
	ticks = elapsed_ticks(&from, &to);
	source->tick_ns = ticks > 0 ? (double)(to_ns - from_ns) / (double)ticks : 0;
	source->resolution_ns = source->tick_ns;
}

int64_t clock_source_elapsed_ns(const struct clock_source *source, const struct timespec *from,
				const struct timespec *to)
{
	if (!source->unit_ns)
		return llround((double)elapsed_ticks(from, to) * source->tick_ns);
	return ((int64_t)to->tv_sec - (int64_t)from->tv_sec) * (int64_t)NSEC_PER_SEC +
	       ((int64_t)to->tv_nsec - (int64_t)from->tv_nsec) * (int64_t)source->unit_ns;
}
