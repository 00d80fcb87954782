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

static void received(const char *warned, const char *sentence)
{
	strncpy(code, warned, sizeof(code) - 1);
	strncpy(text, sentence, sizeof(text) - 1);
}

TEST(a_user_gets_the_priority_allowed_and_a_warning_where_it_is_less)
{
	static const struct {
		int policy, priority, allowed, given_policy, given_priority;
		const char *code, *text;
	} cases[] = {
		{ POLICY_FIFO, 80, 99, POLICY_FIFO, 80, "", "" },
		{ POLICY_FIFO, 80, 12, POLICY_FIFO, 12, "lower-rt-priority",
		  "priority 12, not 80" },
		{ POLICY_FIFO, 80, 0, POLICY_OTHER, 0, "no-rt-priority", "" },
		{ POLICY_DEADLINE, 0, 0, POLICY_OTHER, 0, "no-rt-priority", "SCHED_DEADLINE" },
	};

	foreach (each, cases) {
		struct schedule wanted = { .policy = (enum policy)each->policy }, given;

		wanted.priority = (unsigned int)each->priority;
		highest_allowed = each->allowed;
		limit = each->allowed == 99 ? 0 : (rlim_t)each->allowed;
		*code = *text = '\0';
		given = realtime_allowed(wanted, received);
		assert_int_equal(given.policy, each->given_policy);
		assert_int_equal(given.priority, each->given_priority);
		assert_string_equal(code, each->code);
		assert_non_null(strstr(text, each->text));
	}
}

UNIT_TESTS(NULL, NULL)
