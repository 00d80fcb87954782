/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include <stdbool.h>

/* Call it first: standard output is the port from then on, a line at a time. */
void port_open(void);

/* Makes @path and mounts the file system @type there; a failure is told as "@ failed: ...". */
void mount_at(const char *path, const char *type);

/* On its console, where the lab keeps it to errors; /proc has to be mounted. */
void kernel_tells_all(void);

/* Writes @text over what is in the file @path. */
bool put(const char *path, const char *text);

/* The last line is "@ end", and the machine ends with it. */
_Noreturn void port_end(void);

#endif
