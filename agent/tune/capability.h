/* SPDX-License-Identifier: GPL-2.0-only */
/* What this process may do to the machine. */
#ifndef RTSCOPE_TUNE_CAPABILITY_H
#define RTSCOPE_TUNE_CAPABILITY_H

#include <stdbool.h>

/* Numbers of linux/capability.h. */
enum capability {
	CAPABILITY_DAC_OVERRIDE = 1,
	CAPABILITY_NET_ADMIN = 12,
	CAPABILITY_SYS_ADMIN = 21,
	CAPABILITY_SYS_NICE = 23,
};

/* Its name where this process does not have it, else NULL. */
const char *capability_lacking(enum capability capability);

/* The name of the one that it would take to write @path, else NULL. */
const char *capability_to_write(const char *path);

#endif
