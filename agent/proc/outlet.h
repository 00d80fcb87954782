/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Output that never makes its caller wait for the reader.
 *
 * The caller puts lines into a queue in memory, and a thread of normal
 * priority writes them, in order, as fast as the reader takes them. The
 * housekeeping thread of a session needs this: if it waited for a terminal
 * under Ctrl-S, a stopped reader or a slow disk, the lease would run out and
 * the run would end.
 *
 * O_NONBLOCK is no alternative. It belongs to the open file, which the agent
 * shares with the shell that started it and with other programs, and it would
 * stay set after the agent has ended. poll() before a blocking write() is none
 * either: a pipe that is writable takes PIPE_BUF bytes without blocking, and a
 * terminal guarantees nothing.
 *
 * A caller that must not wait limits the queue by outlet_is_idle() or
 * outlet_waiting(). In addition, outlet_set_limit() drops lines, each as a
 * whole, beyond a number of bytes.
 */
#ifndef RTSCOPE_OUTLET_H
#define RTSCOPE_OUTLET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define OUTLET_NO_LIMIT SIZE_MAX

struct outlet_bytes {
	char *data;
	size_t used, size;
};

struct outlet {
	struct json_sink sink; /* for a struct json */
	int fd;
	bool open;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct outlet_bytes queue;   /* put, and not yet taken by the writer */
	struct outlet_bytes leaving; /* taken by the writer, which alone reads it */
	size_t whole;		     /* bytes of @queue up to the end of its last whole line */
	size_t limit;
	bool cut; /* the line that is being put is dropped */
	bool busy, ending, failed;
};

/* Start writing to @fd, with room for @size bytes. Returns 0 or an errno. */
int outlet_open(struct outlet *outlet, int fd, size_t size);

/* Let the writer run on the CPUs of the calling thread only. */
void outlet_follow(struct outlet *outlet);

/*
 * Drop lines that would make the queue longer than @limit bytes, or for which there is no memory.
 * With OUTLET_NO_LIMIT nothing is dropped, and where memory is short the caller waits.
 */
void outlet_set_limit(struct outlet *outlet, size_t limit);

/* Append to the line that is being put. */
void outlet_put(struct outlet *outlet, const char *bytes, size_t size);

/* Hand the line to the writer. Returns false if it was dropped. */
bool outlet_end_line(struct outlet *outlet);

/* Make a stream whose bytes are put; flush it before outlet_end_line(). NULL without memory. */
FILE *outlet_stream(struct outlet *outlet);

/* Return whether all that was put has been written. */
bool outlet_is_idle(struct outlet *outlet);

/* Return the number of bytes that the writer has not taken yet. */
size_t outlet_waiting(struct outlet *outlet);

/* Return whether writing failed; all that is put after that is dropped. */
bool outlet_failed(struct outlet *outlet);

/* Wait until all was written or writing failed, at most until @until_ns. Returns whether it was. */
bool outlet_wait(struct outlet *outlet, uint64_t until_ns);

/* End the writer. All must have been written, or outlet_wait() must have returned true. */
void outlet_close(struct outlet *outlet);

#endif
