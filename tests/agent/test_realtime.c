// SPDX-License-Identifier: GPL-2.0-only
/* What a user gets who may have less than was asked: the kernel's answers are played here. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

static int highest_allowed;
static rlim_t limit;

static long played_syscall(long number, int pid, ...)
{
	const struct sched_param *param;
	va_list arguments;
	int policy;

	(void)pid;
	if (number != SYS_sched_setscheduler) {
		errno = EPERM;
		return -1;
	}
	va_start(arguments, pid);
	policy = va_arg(arguments, int);
	param = va_arg(arguments, const struct sched_param *);
	va_end(arguments);
	if (policy == SCHED_OTHER || param->sched_priority <= highest_allowed)
		return 0;
	errno = EPERM;
	return -1;
}

static int played_getrlimit(int resource, struct rlimit *given)
{
	assert_int_equal(resource, RLIMIT_RTPRIO);
	*given = (struct rlimit){ limit, limit };
	return 0;
}

#define syscall		played_syscall
#define getrlimit(a, b) played_getrlimit((int)(a), b)
#include "proc/realtime.c"

static char code[64], text[512];

static void heard(const char *warned, const char *sentence)
{
	strncpy(code, warned, sizeof(code) - 1);
	strncpy(text, sentence, sizeof(text) - 1);
}

static struct schedule allowed(enum policy policy, int may, rlim_t user_limit)
{
	struct schedule wanted = { .policy = policy, .priority = policy == POLICY_FIFO ? 80 : 0 };

	highest_allowed = may;
	limit = user_limit;
	memset(code, 0, sizeof(code));
	return realtime_allowed(wanted, heard);
}

TEST(all_that_is_asked_is_given_in_silence)
{
	struct schedule given = allowed(POLICY_FIFO, 99, 0);

	assert_int_equal(given.priority, 80);
	assert_string_equal(code, "");
}

TEST(a_limited_priority_is_used_and_told)
{
	struct schedule given = allowed(POLICY_FIFO, 12, 12);

	assert_int_equal(given.policy, POLICY_FIFO);
	assert_int_equal(given.priority, 12);
	assert_string_equal(code, "lower-rt-priority");
	assert_non_null(strstr(text, "priority 12, not 80"));
}

TEST(without_any_priority_the_thread_is_ordinary_and_that_is_told)
{
	assert_int_equal(allowed(POLICY_FIFO, 0, 0).policy, POLICY_OTHER);
	assert_string_equal(code, "no-rt-priority");
	assert_int_equal(allowed(POLICY_DEADLINE, 0, 0).policy, POLICY_OTHER);
	assert_string_equal(code, "no-rt-priority");
	assert_non_null(strstr(text, "SCHED_DEADLINE"));
}

UNIT_TESTS(NULL, NULL)
