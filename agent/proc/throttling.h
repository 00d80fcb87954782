/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real-time throttling and deadline servers of the kernel: they stop a real-time thread although no
 * thread has a higher priority.
 */
#ifndef RTSCOPE_THROTTLING_H
#define RTSCOPE_THROTTLING_H

#include <sched.h>
#include <stdint.h>

#include "base/json.h"
#include "base/warning.h"
#include "proc/cpus.h"

enum throttle_state {
	THROTTLE_UNKNOWN,
	THROTTLE_NONE, /* this kernel has no such mechanism */
	THROTTLE_OFF,
	THROTTLE_IDLE, /* nothing uses it: the ext server without a BPF scheduler */
	THROTTLE_ON,
};

/* One mechanism. Throttling gives real-time threads @runtime_ns of each @period_ns, a server ordinary ones. */
struct throttle {
	enum throttle_state state;
	char why[224];	/* the evidence; where the state is unknown, how to find out */
	cpu_set_t cpus; /* those whose runtime and period are known */
	uint64_t runtime_ns[CPUS_MAX];
	uint64_t period_ns[CPUS_MAX];
};

struct throttling {
	struct throttle realtime;
	struct throttle fair_server;
	struct throttle ext_server;
};

/* Read the state of the system whose root directory is the open file @root, or AT_FDCWD. */
void throttling_read(int root, struct throttling *throttling);

/* Warn of what can stop SCHED_FIFO threads on @cpus. */
void throttling_warn(const struct throttling *throttling, const cpu_set_t *cpus, warn_fn *warn);

/* The object "throttling" of a line. */
void throttling_put(const struct throttling *throttling, struct json *json);

/* One line for a person for each mechanism. */
void throttling_print(const struct throttling *throttling);

#endif
