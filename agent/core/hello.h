/* SPDX-License-Identifier: GPL-2.0-only */
/* The protocol's first line. */
#ifndef RTSCOPE_HELLO_H
#define RTSCOPE_HELLO_H

#define PROTOCOL_VERSION 1

struct json;

void hello_write(struct json *json);

/* Tell what is known to lessen every figure of this machine, right after the hello. Both are kept. */
void hello_add_warning(const char *code, const char *text);

#endif
