/* SPDX-License-Identifier: GPL-2.0-only */
/* The protocol's first line. */
#ifndef RTSCOPE_HELLO_H
#define RTSCOPE_HELLO_H

#define PROTOCOL_VERSION 1

struct json;

void hello_write(struct json *json);

#endif
