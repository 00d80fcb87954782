/* SPDX-License-Identifier: GPL-2.0-only */
/* As linux/types.h in this folder. */
#pragma GCC system_header

#if __has_include_next(<linux/ioctl.h>)
#include_next <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif
