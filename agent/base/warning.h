/* SPDX-License-Identifier: GPL-2.0-only */
/* How a warning leaves the place that knows of it. */
#ifndef RTSCOPE_WARNING_H
#define RTSCOPE_WARNING_H

/* @code is stable and meant for scripts, @text is a sentence. */
typedef void warn_fn(const char *code, const char *text);

struct json;

/* As a line of @json; to a person where that is NULL. */
void warning_report(struct json *json, const char *code, const char *text);

#endif
