/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking at something again and again, until a signal comes or nobody reads what is told of it. */
#ifndef RTSCOPE_LOOKING_H
#define RTSCOPE_LOOKING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* From here on SIGINT, SIGTERM and SIGHUP are for looking_wait(), and SIGPIPE is ignored. */
void looking_begin(void);

/* Wait for @interval_ns or a shorter while. Returns false when the looking is to end. */
bool looking_wait(const struct json *json, uint64_t interval_ns);

/* The protocol's last line. */
void looking_end(struct json *json, const char *status, uint64_t time_ns);

#endif
