/* SPDX-License-Identifier: GPL-2.0-only */
/* What a module of kernel/modules is reached by. */
#ifndef RTSCOPE_DEVICE_H
#define RTSCOPE_DEVICE_H

#include <stddef.h>

/* Open /dev/@module, one module in a process. Returns a file descriptor, or -1 with a sentence in @error. */
int device_open(const char *module, int flags, char *error, size_t error_size);

/* The module's last message in the kernel's log since it was first opened, or where to find it. */
void device_said(const char *module, char *said, size_t said_size);

#endif
