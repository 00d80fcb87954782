// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON Lines on a file descriptor.
 *
 * A line is gathered in the buffer and leaves in one write() where it fits,
 * so that a reader of a pipe gets whole lines and a measuring machine is woken
 * once a line. Longer lines (file contents) leave a buffer at a time. No stdio
 * stream: it would allocate, and hide EPIPE until much later.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

static void flush(struct json *json)
{
	const char *from = json->buffer;

	if (json->sink) {
		json->sink->put(json->sink, json->buffer, json->used);
		json->used = 0;
	}
	while (json->used && !json->failed) {
		ssize_t written = write(json->fd, from, json->used);

		if (written >= 0) {
			from += written;
			json->used -= written;
		} else if (errno == EAGAIN) {
			struct pollfd room = { .fd = json->fd, .events = POLLOUT };

			poll(&room, 1, -1);
		} else if (errno != EINTR) {
			json->failed = true;
		}
	}
	json->used = 0;
}

static void put(struct json *json, const char *bytes, size_t size)
{
	if (json->failed || !size)
		return;

	json->last = bytes[size - 1];
	while (size) {
		size_t room = sizeof(json->buffer) - json->used;
		size_t part = size < room ? size : room;

		memcpy(json->buffer + json->used, bytes, part);
		json->used += part;
		bytes += part;
		size -= part;
		if (json->used == sizeof(json->buffer))
			flush(json);
	}
}

static void put_string(struct json *json, const char *string)
{
	put(json, string, strlen(string));
}

/*
 * Length of the UTF-8 sequence at @bytes. When it is not one, *@valid is false
 * and the length is that of the part to replace: as much of a sequence as
 * could still have become valid, at least one byte (Unicode 15, section 3.9).
 */
static size_t sequence(const unsigned char *bytes, size_t size, bool *valid)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t length, i;

	*valid = bytes[0] < 0x80;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 1;

	length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	if (bytes[0] == 0xe0)
		low = 0xa0; /* below: overlong */
	else if (bytes[0] == 0xed)
		high = 0x9f; /* above: surrogates */
	else if (bytes[0] == 0xf0)
		low = 0x90; /* below: overlong */
	else if (bytes[0] == 0xf4)
		high = 0x8f; /* above: past U+10FFFF */

	for (i = 1; i < length; i++) {
		if (i >= size || bytes[i] < low || bytes[i] > high)
			return i;
		low = 0x80;
		high = 0xbf;
	}
	*valid = true;
	return length;
}

static void put_quoted(struct json *json, const unsigned char *bytes, size_t size)
{
	put(json, "\"", 1);
	while (size) {
		bool valid;
		size_t length = sequence(bytes, size, &valid);
		char escape[8];

		if (!valid) {
			put_string(json, "\\ufffd");
		} else if (*bytes == '"' || *bytes == '\\') {
			escape[0] = '\\';
			escape[1] = *bytes;
			put(json, escape, 2);
		} else if (*bytes == '\n') {
			put(json, "\\n", 2);
		} else if (*bytes == '\t') {
			put(json, "\\t", 2);
		} else if (*bytes < 0x20 || *bytes == 0x7f) {
			snprintf(escape, sizeof(escape), "\\u%04x", *bytes);
			put_string(json, escape);
		} else {
			put(json, (const char *)bytes, length);
		}
		bytes += length;
		size -= length;
	}
	put(json, "\"", 1);
}

static void put_key(struct json *json, const char *key)
{
	if (json->last != '{' && json->last != '[')
		put(json, ",", 1);
	if (key) {
		put_quoted(json, (const unsigned char *)key, strlen(key));
		put(json, ":", 1);
	}
}

static void put_value(struct json *json, const char *key, const char *value)
{
	put_key(json, key);
	put_string(json, value);
}

void json_begin(struct json *json, const char *type)
{
	put(json, "{", 1);
	json_string(json, "type", type);
}

void json_end(struct json *json)
{
	put(json, "}\n", 2);
	flush(json);
	if (json->sink && !json->sink->end_line(json->sink))
		json->failed = true;
}

void json_warning(struct json *json, const char *code, const char *text)
{
	json_begin(json, "warning");
	json_string(json, "code", code);
	json_string(json, "text", text);
	json_end(json);
}

void json_string(struct json *json, const char *key, const char *value)
{
	json_text(json, key, value, strlen(value));
}

void json_text(struct json *json, const char *key, const void *data, size_t size)
{
	put_key(json, key);
	put_quoted(json, data, size);
}

void json_base64(struct json *json, const char *key, const void *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *bytes = data;

	put_key(json, key);
	put(json, "\"", 1);
	while (size) {
		size_t taken = size < 3 ? size : 3;
		uint32_t group = bytes[0] << 16;
		char text[4];

		if (taken > 1)
			group |= bytes[1] << 8;
		if (taken > 2)
			group |= bytes[2];
		text[0] = digits[group >> 18];
		text[1] = digits[group >> 12 & 63];
		text[2] = taken > 1 ? digits[group >> 6 & 63] : '=';
		text[3] = taken > 2 ? digits[group & 63] : '=';
		put(json, text, sizeof(text));
		bytes += taken;
		size -= taken;
	}
	put(json, "\"", 1);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_value(json, key, text);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_value(json, key, text);
}

/* Seventeen digits always read back as the same double; looking for fewer would need strtod(). */
void json_double(struct json *json, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	snprintf(text, sizeof(text), "%.17g", value);
	put_value(json, key, text);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_value(json, key, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	put_value(json, key, "null");
}

void json_u64_if(struct json *json, bool known, const char *key, uint64_t value)
{
	if (known)
		json_u64(json, key, value);
	else
		json_null(json, key);
}

void json_double_if(struct json *json, bool known, const char *key, double value)
{
	if (known)
		json_double(json, key, value);
	else
		json_null(json, key);
}

void json_cpu(struct json *json, int cpu)
{
	json_u64_if(json, cpu >= 0, "cpu", (uint64_t)cpu);
}

void json_object_begin(struct json *json, const char *key)
{
	put_value(json, key, "{");
}

void json_object_end(struct json *json)
{
	put(json, "}", 1);
}

void json_array_begin(struct json *json, const char *key)
{
	put_value(json, key, "[");
}

void json_array_end(struct json *json)
{
	put(json, "]", 1);
}
