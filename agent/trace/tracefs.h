/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's file system for tracing. */
#ifndef RTSCOPE_TRACEFS_H
#define RTSCOPE_TRACEFS_H

/* The place where tracefs belongs, for messages. */
#define TRACEFS_FOLDER "/sys/kernel/tracing"

/*
 * Open the root of a mounted tracefs; *@folder is its path. Returns a file descriptor, or -1 with
 * errno: ENOENT if it is mounted nowhere.
 */
int tracefs_open_mounted(const char **folder);

/*
 * Open the root of tracefs. Where it is not mounted, it is mounted for this descriptor alone: no
 * other process sees that mount, and it ends with its last descriptor. Returns -1 with errno.
 */
int tracefs_open(void);

#endif
