/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Call it first: mounts /dev, /proc and /sys, and makes the port standard output, line by line. */
void port_open(void);

/* Run /agent with @words after a line "@ @what"; its child calls @prepare first, if any. */
void agent_run(const char *what, char *const *words, void (*prepare)(void));

/* Set this thread's policy by system call: musl's sched_setscheduler() does nothing. */
void schedule_as(int policy, int priority);

int64_t now_ns(void); /* CLOCK_MONOTONIC */

/* "refused", or "taken" where it does not hold. */
const char *refused(bool holds);

/* Makes @path and mounts the file system @type there; a failure is told as "@ failed: ...". */
void mount_at(const char *path, const char *type);

/* On its console, where the lab keeps it to errors. */
void kernel_tells_all(void);

/* Writes @text over what is in the file @path. */
bool put(const char *path, const char *text);

/* The last line is "@ end", and the machine ends with it. */
_Noreturn void port_end(void);

#endif
