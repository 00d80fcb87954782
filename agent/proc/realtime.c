// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/policies.h"
#include "proc/realtime.h"

#define DEADLINE_RUNTIME_MIN_NS (10 * NSEC_PER_USEC)
#define STACK_SIZE		(64 * 1024)

/* As in linux/sched/types.h, first version: musl has no such header. */
struct deadline_attr {
	uint32_t size;
	uint32_t sched_policy;
	uint64_t sched_flags;
	int32_t sched_nice;
	uint32_t sched_priority;
	uint64_t sched_runtime;
	uint64_t sched_deadline;
	uint64_t sched_period;
};

/* The policies that a measuring thread may have, of those in proc/policies.c. */
const char *const policy_names[] = { "fifo", "deadline", "other", NULL };

static int enter_deadline(uint64_t period_ns)
{
	uint64_t runtime_ns = period_ns / 10;
	struct deadline_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_DEADLINE,
		.sched_deadline = period_ns,
		.sched_period = period_ns,
	};

	if (runtime_ns < DEADLINE_RUNTIME_MIN_NS)
		runtime_ns = DEADLINE_RUNTIME_MIN_NS;
	attr.sched_runtime = runtime_ns < period_ns ? runtime_ns : period_ns;
	return (int)syscall(SYS_sched_setattr, 0, &attr, 0);
}

bool realtime_deadline(int tid, struct reservation *given)
{
	struct deadline_attr attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) ||
	    attr.sched_policy != SCHED_DEADLINE)
		return false;
	given->runtime_ns = attr.sched_runtime;
	given->deadline_ns = attr.sched_deadline;
	given->period_ns = attr.sched_period;
	return true;
}

/* By system call: musl's own sched_setscheduler() always fails. */
int realtime_enter(const struct schedule *schedule)
{
	struct sched_param param = { .sched_priority = (int)schedule->priority };
	int policy = SCHED_OTHER;

	if (schedule->policy == POLICY_DEADLINE)
		return enter_deadline(schedule->period_ns);
	if (schedule->policy == POLICY_FIFO)
		policy = SCHED_FIFO;
	else
		param.sched_priority = 0;
	return (int)syscall(SYS_sched_setscheduler, 0, policy, &param);
}

bool realtime_may_enter(const struct schedule *schedule)
{
	static const struct schedule back = { .policy = POLICY_OTHER };

	if (realtime_enter(schedule) < 0)
		return errno != EPERM;
	realtime_enter(&back);
	return true;
}

struct schedule realtime_allowed(struct schedule wanted, warn_fn *warn)
{
	struct schedule given = wanted;
	struct rlimit limit;
	char text[256];

	if (wanted.policy == POLICY_OTHER || realtime_may_enter(&wanted))
		return wanted;

	if (wanted.policy == POLICY_FIFO && !getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur &&
	    limit.rlim_cur < wanted.priority) {
		given.priority = (unsigned int)limit.rlim_cur;
		if (realtime_may_enter(&given)) {
			snprintf(text, sizeof(text),
				 "measured at SCHED_FIFO priority %u, not %u: that is all this user may have (ulimit -r); run as root or raise rtprio in /etc/security/limits.conf",
				 given.priority, wanted.priority);
			warn("lower-rt-priority", text);
			return given;
		}
	}
	given = (struct schedule){ .policy = POLICY_OTHER };
	snprintf(text, sizeof(text),
		 "measured as an ordinary thread (SCHED_OTHER): SCHED_%s is refused to this user, so the figures say little about real-time work; run as root or with CAP_SYS_NICE",
		 wanted.policy == POLICY_FIFO ? "FIFO" : "DEADLINE");
	warn("no-rt-priority", text);
	return given;
}

void realtime_lock_memory(warn_fn *warn)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
		return;
	warn("no-memlock",
	     "memory is not locked: a page fault may be part of a latency; run as root or raise memlock (ulimit -l)");
}

void realtime_unlock_memory(void)
{
	munlockall();
}

/* glibc needs more than 64 KiB on some architectures. */
size_t realtime_stack_size(void)
{
#ifdef _SC_THREAD_STACK_MIN
	long smallest = sysconf(_SC_THREAD_STACK_MIN);

	if (smallest > STACK_SIZE)
		return (size_t)smallest;
#endif
	return STACK_SIZE;
}

static bool any_cpu_not_high_resolution(FILE *list)
{
	char line[256];

	while (fgets(line, sizeof(line), list)) {
		const char *colon = strstr(line, ".hres_active") ? strchr(line, ':') : NULL;

		if (colon && !strtol(colon + 1, NULL, 10))
			return true;
	}
	return false;
}

enum tristate realtime_high_resolution(void)
{
	struct timespec resolution;
	bool low;
	FILE *list;

	if (clock_getres(CLOCK_MONOTONIC, &resolution))
		return STATE_UNKNOWN;
	if (timespec_to_ns(&resolution) > 1)
		return STATE_NO;
	list = fopen("/proc/timer_list", "re");
	if (!list)
		return STATE_YES;
	low = any_cpu_not_high_resolution(list);
	fclose(list);
	return low ? STATE_NO : STATE_YES;
}
