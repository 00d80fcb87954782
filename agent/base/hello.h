/* SPDX-License-Identifier: GPL-2.0-only */
/* The protocol's first line. */
#ifndef RTSCOPE_HELLO_H
#define RTSCOPE_HELLO_H

#define PROTOCOL_VERSION 1

/* Of `describe`: increased when an option, a probe, a load or a metric is added, changed or removed. */
#define DESCRIPTION_VERSION 8

/* The variable with a sentence about the part of the boot that was not over. */
#define HELLO_UNSETTLED "rtscope_unsettled"

struct json;

/* The names of all loads, a NULL last: main() sets it, as base knows of no load. */
extern const char *const *hello_loads;

void hello_write(struct json *json);

#endif
