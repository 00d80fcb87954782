/* SPDX-License-Identifier: GPL-2.0-only */
/* The capabilities of this process. */
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

/* Return the name of @capability if this process lacks it, else NULL. */
const char *capability_lacking(enum capability capability);

/* Return the name of the capability that this process lacks to write @path, else NULL. */
const char *capability_to_write(const char *path);

#endif
