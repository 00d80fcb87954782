/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tracefs instance of this process: its own ring buffers, events and clock.
 *
 * The global buffer, its tracer and its events stay as they are. A child of the agent supervises the
 * instance: when the agent ends, however it is killed, the child switches the events off and removes
 * the instance. An instance whose agent and supervisor were both killed is removed by the next agent
 * that traces: the agent holds a lock on the folder of its instance.
 */
#ifndef RTSCOPE_TRACE_INSTANCE_H
#define RTSCOPE_TRACE_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/events.h"

#define TRACE_NAME_SIZE 64

struct json;

struct trace_instance {
	int tracefs; /* the root of tracefs; -1: closed */
	int folder;  /* of the instance */
	int holder;  /* its closing stops the recording; -1: the kernel has no such file */
	char name[TRACE_NAME_SIZE];
	enum trace_deep deep;
	unsigned int ring_kb; /* of each CPU */
	size_t page_size;     /* bytes that a read of a CPU's raw buffer returns at most */
	size_t commit_size;   /* bytes of a page's field "commit" */
	pid_t supervisor;
	int lifeline; /* its other end is the supervisor's */
};

/*
 * Make the instance, with the clock "mono" and every event of ours that this kernel has, and leave
 * it switched off. Returns 0, or -1 with a sentence in @error; then nothing is left.
 */
int trace_instance_open(struct trace_instance *instance, enum trace_deep deep, char *error,
			size_t error_size);

/* Start the tracer that instance->deep names. Returns false with errno where the kernel has none. */
bool trace_instance_deepen(struct trace_instance *instance);

/* Switch recording on or off. */
bool trace_instance_record(const struct trace_instance *instance, bool on);

/* Remove the instance. */
void trace_instance_close(struct trace_instance *instance);

/* Write the line "trace": clock, sizes, the formats of the events, and those that are missing. */
void trace_instance_write(const struct trace_instance *instance, struct json *json);

#endif
