/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the kernel's scheduling policies. */
#ifndef RTSCOPE_POLICIES_H
#define RTSCOPE_POLICIES_H

#include <sched.h>

/* As in linux/sched.h; glibc before 2.41 lacks both. */
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif
#ifndef SCHED_EXT
#define SCHED_EXT 7
#endif

/* Return "other", "fifo" and so on; NULL for a number that this agent does not know. */
const char *policy_name_of(unsigned int number);

/* Return the number of the policy @name; -1 for an unknown name. */
int policy_number_of(const char *name);

#endif
