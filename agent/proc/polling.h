/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking at something again and again, until a signal comes or nobody reads what is told of it. */
#ifndef RTSCOPE_POLLING_H
#define RTSCOPE_POLLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* From here on SIGINT, SIGTERM and SIGHUP are for polling_wait(), and SIGPIPE is ignored. */
void polling_begin(void);

/* Wait for @interval_ns or a shorter while. Returns false when the looking is to end. */
bool polling_wait(const struct json *json, uint64_t interval_ns);

/* The protocol's last line. */
void polling_end(struct json *json, const char *status, uint64_t time_ns);

#endif
