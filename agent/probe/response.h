/* SPDX-License-Identifier: GPL-2.0-only */
/* What response.c and response_points.c share: the late cycles of a program with measurement points. */
#ifndef RTSCOPE_RESPONSE_H
#define RTSCOPE_RESPONSE_H

#include <stddef.h>
#include <sys/types.h>

#include "session/session.h"

/* Find the points of process @pid, of the name @point or all. Returns 0, or -1 with a sentence. */
int response_points_open(pid_t pid, const char *point, char *error, size_t error_size);

/* The body of the thread that polls them. */
void response_points_poll(struct measuring *measuring);

#endif
