/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limit on the exit latency of idle states while a session measures.
 *
 * The kernel obeys the least of what all holders of /dev/cpu_dma_latency ask for.
 * So a session can make the limit stricter than the system has it, never looser.
 */
#ifndef RTSCOPE_IDLE_STATES_H
#define RTSCOPE_IDLE_STATES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/warning.h"

enum idle_mode {
	IDLE_DEFAULT, /* leave the system as it is */
	IDLE_LIMIT,
	IDLE_OFF, /* limit 0: no idle state but polling, as cyclictest measures */
};

struct idle_states {
	enum idle_mode mode;
	uint64_t limit_ns; /* of IDLE_LIMIT; whole microseconds */
	bool given;	   /* by the user */
};

const char *idle_mode_name(enum idle_mode mode);

/* Read "default", "limit:TIME" or "off". False if @text is none of these. */
bool idle_states_parse(const char *text, struct idle_states *idle);

/*
 * Hold what @idle asks for until this process ends; @tuned_ns is what a tuning rule of this process
 * holds already, UINT64_MAX if none does. Warns if the kernel refuses it, and if another program
 * holds a stricter limit.
 */
void idle_states_hold(const struct idle_states *idle, uint64_t tuned_ns, warn_fn *warn);

/* The limit in effect, of all holders. False if this user cannot read it. */
bool idle_states_effective_ns(uint64_t *limit_ns);

/* Print the same to a person, in a line. */
void idle_states_print(const struct idle_states *idle, FILE *out);

/* Write the object "idle_states". */
void idle_states_put(struct json *json, const struct idle_states *idle);

#endif
