/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the probe loop share: what was asked, and the watches of its loops. */
#ifndef RTSCOPE_LOOP_H
#define RTSCOPE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/period.h"
#include "probe/watch.h"
#include "session/session.h"

#define LOOPS_MAX     4
#define OBSERVER_AUTO -1
#define OBSERVER_SELF -2

extern struct loop {
	bool in_kernel;
	unsigned int method; /* of the first loop; the next ones' follow it */
	unsigned int loops;
	uint64_t work_ns;
	uint64_t slack_ns; /* in the kernel */
	uint64_t turn_ns;  /* of one loop, until the next one's */
	int observer;	   /* a CPU, OBSERVER_AUTO or OBSERVER_SELF */
	bool restless;
	struct limits limits;
	struct watch watch[LOOPS_MAX];
} loop;

/* Until the turn begins, in steps that a short lease covers. False when measuring is over. */
bool loop_await_turn(struct measuring *measuring, uint64_t start_ns);

/* The body of a thread that loops itself. */
void loop_in_program(struct measuring *measuring);

/* By method; a loop in the kernel is never taken for a program's. */
extern const char *const kernel_method_names[], *const kernel_loop_names[];

/* Open the module's loops, and let it check the request. 0, or -1 with a sentence. */
int loop_reach_kernel(const struct session_options *session, int cpu, char *error,
		      size_t error_size);

/* The body of a thread that has the kernel loop. */
void loop_in_kernel(struct measuring *measuring);

/* The body of the thread that watches all loops. */
void loop_observe(struct measuring *measuring);

#endif
