/* SPDX-License-Identifier: GPL-2.0-only */
/* The two ways of writing threads: the protocol, and a table like ps -Leo's. */
#ifndef RTSCOPE_THREADS_OUTPUT_H
#define RTSCOPE_THREADS_OUTPUT_H

#include "base/json.h"
#include "proc/threads_read.h"

/* A line of the type "threads" with all of them; @since_ns since the previous reading, 0: the first. */
void threads_send(struct json *json, const struct thread_list *list, uint64_t time_ns,
		  uint64_t since_ns);

/* As a table: those of a real-time policy or on an isolated CPU, or @all. */
void threads_print(const struct thread_list *list, bool all, uint64_t since_ns);

#endif
