/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace around late samples: raw pages of every CPU's ring buffer.
 *
 * Recording never stops. Soon after a late sample the rings are read, before the kernel overwrites
 * them, and the pages of the sample's window are copied. What they contain is decoded by the reader
 * of the protocol.
 */
#ifndef RTSCOPE_TRACE_PAGES_H
#define RTSCOPE_TRACE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/instance.h"

#define TRACE_WINDOWS_MAX 64

/* The pages of one CPU in one window. */
struct trace_part {
	unsigned int cpu;
	bool complete; /* no event of the window is missing */
	size_t size;
	uint8_t *data; /* whole pages, in the order of time */
};

struct trace_window {
	unsigned int thread;
	int tid; /* of the late thread, if it is not one of the session's; else 0 */
	int cpu; /* of the sample; -1: unknown */
	uint64_t due_ns;
	uint64_t latency_ns;
	unsigned int part_count;
	struct trace_part *part; /* of each CPU; NULL: not copied yet */
};

/* Open the raw buffers of every CPU. Returns 0, or -1 with errno. */
int trace_pages_open(const struct trace_instance *instance, uint64_t now_ns);
void trace_pages_close(void);

/*
 * Called for each page that is read, in the order of time of its CPU; @follows_loss: events before
 * it may be missing.
 */
typedef void trace_page_fn(const uint8_t *page, unsigned int cpu, bool follows_loss, void *data);

void trace_pages_observe(trace_page_fn *observe, void *data);

/* Read the rings of every CPU, before the kernel overwrites them. */
void trace_pages_read(void);

/* Copy the pages of @count windows of @window that have none yet, from those that were read. */
void trace_pages_copy(struct trace_window *const *window, unsigned int count);

/* Drop the pages of a window. */
void trace_window_free(struct trace_window *window);

/* Write the line "trace-window". */
void trace_window_write(const struct trace_window *window, struct json *json);

#endif
