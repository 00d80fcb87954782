// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>

#include "proc/policies.h"

static const char *const names[] = {
	[SCHED_OTHER] = "other", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
	[SCHED_BATCH] = "batch", [SCHED_IDLE] = "idle", [SCHED_DEADLINE] = "deadline",
	[SCHED_EXT] = "ext",
};

#define COUNT (sizeof(names) / sizeof(names[0]))

const char *policy_name_of(unsigned int number)
{
	return number < COUNT ? names[number] : NULL;
}

int policy_number_of(const char *name)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	}
	return -1;
}
