/* SPDX-License-Identifier: GPL-2.0-only */
/* Polling until a signal comes or nobody reads the output any more. */
#ifndef RTSCOPE_POLLING_H
#define RTSCOPE_POLLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* Block SIGINT, SIGTERM and SIGHUP, which end polling_wait(), and ignore SIGPIPE. */
void polling_begin(void);

/* Wait for @interval_ns, at most 200 ms. Returns false when polling has to end. */
bool polling_wait(const struct json *json, uint64_t interval_ns);

/* Write the protocol's last line. */
void polling_end(struct json *json, const char *status, uint64_t time_ns);

#endif
