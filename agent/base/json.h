/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON Lines on a file descriptor: one object a line.
 *
 *	struct json json = { .fd = STDOUT_FILENO };
 *
 *	json_begin(&json, "progress");
 *	json_u64(&json, "time_ns", time_ns);
 *	json_array_begin(&json, "threads");
 *	json_u64(&json, NULL, 0);
 *	json_array_end(&json);
 *	json_end(&json);
 *
 * A key is NULL inside an array. @failed is set once the line could not be
 * written (the reader went away, the disk is full); everything after that is
 * dropped. SIGPIPE must be ignored for it to be seen.
 *
 * With a @sink, lines go there and not to @fd. The sink of proc/outlet.h never waits for the reader.
 */
#ifndef RTSCOPE_JSON_H
#define RTSCOPE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_sink {
	void (*put)(struct json_sink *sink, const char *bytes, size_t size);
	/* Returns false once output has failed. */
	bool (*end_line)(struct json_sink *sink);
};

struct json {
	int fd;
	struct json_sink *sink; /* NULL: lines are written to @fd */
	bool failed;
	char last; /* last byte written: decides whether a comma is due */
	size_t used;
	char buffer[8192];
};

void json_begin(struct json *json, const char *type);
void json_end(struct json *json);

/* A whole line of the type "warning"; @code and @text as in base/warning.h. */
void json_warning(struct json *json, const char *code, const char *text);

/* Strings are UTF-8; what is not becomes U+FFFD, as Python's "replace" does. */
void json_string(struct json *json, const char *key, const char *value);
void json_text(struct json *json, const char *key, const void *data, size_t size);
void json_base64(struct json *json, const char *key, const void *data, size_t size);

void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
/* Reads back as the same double; null where JSON has no word for it. */
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* Null where it is not @known. */
void json_u64_if(struct json *json, bool known, const char *key, uint64_t value);
void json_double_if(struct json *json, bool known, const char *key, double value);
/* The key "cpu"; null where @cpu is below 0. */
void json_cpu(struct json *json, int cpu);

void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);

#endif
