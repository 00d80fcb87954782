/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads: background work that runs during a measurement.
 *
 * A set of loads is parsed from the command line, started, read while the
 * measurement runs, and stopped. Everything a load starts dies with the run,
 * whatever ends it.
 *
 * All workers run as SCHED_OTHER at nice 0 on every CPU they may have, whatever
 * the calling process is. Where the kernel permits it they live in a PID and a
 * mount namespace of their own; a user without CAP_SYS_ADMIN needs a user
 * namespace for that, in which commands such as sudo have no power. A command
 * finds in TMPDIR a directory that is removed at the end, and gets SIGTERM half a
 * second before SIGKILL.
 */
#ifndef RTSCOPE_LOAD_H
#define RTSCOPE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/cpus.h"

#define LOAD_UNITS_MAX 4
#define LOADS_MAX      16

/* The highest strength of each load. */
#define LOAD_STRENGTH_MAX 1000

struct load_set;

/* Names of all loads, NULL-terminated: "cpu", "memory", ... */
const char *const *load_names(void);

/* One line of help for a name of load_names(). */
const char *load_help(const char *name);

/* What the strength of a name of load_names() counts; NULL: it has no strength. */
const char *load_strength(const char *name);

/* The strength without a number, in words; NULL as load_strength(). */
const char *load_strength_default(const char *name);

struct load_set *load_set_new(uint64_t seed);

/* Let the workers run on @cpus only. Call it before load_set_parse(), which counts the CPUs. */
void load_set_limit_cpus(struct load_set *set, const struct cpus *cpus);

/*
 * Add the loads of @spec: "idle", "mixed", "files:50", "files:50+network:1",
 * "stress-ng:--cpu 2", "cmd:make -j4"; these last two take all that follows. A
 * load without a strength has one worker for each CPU. Returns 0, or -1 with a
 * sentence in @error and nothing added.
 */
int load_set_parse(struct load_set *set, const char *spec, char *error, size_t error_size);

/*
 * Start every load and wait until each worker has done work, a command's
 * processes 50 ms of CPU time (or @timeout_ns passed, which is a warning).
 * Returns 0, or -1 with a sentence in @error and nothing left running. A part of
 * mixed that cannot run here is left out with a warning; any other load that
 * cannot is an error.
 *
 * @warn is called with a code and a sentence if a load is weaker than asked for or
 * harder to end: load-containment,
 * load-degraded, load-loopback, load-missing, load-priority, load-slow.
 */
int load_set_start(struct load_set *set, uint64_t timeout_ns,
		   void (*warn)(const char *code, const char *text), char *error,
		   size_t error_size);

/* Number of loads in the set (mixed counts as its parts); 0 when idle. */
unsigned int load_set_size(const struct load_set *set);

struct load_work {
	const char *name;      /* "files", "cmd:make -j4" */
	unsigned int strength; /* workers (ipc: groups of ten); 0: has no meaning */
	uint64_t seed;
	unsigned int units;
	const char *unit[LOAD_UNITS_MAX];
	uint64_t total[LOAD_UNITS_MAX]; /* work done since load_set_start() */
};

/* Read the work of load @index so far, also after the stop; cheap, never blocks. */
void load_set_read(const struct load_set *set, unsigned int index, struct load_work *work);

/*
 * False once a load that should run for the whole measurement has ended by
 * itself; @text then says which and how.
 */
bool load_set_alive(struct load_set *set, char *text, size_t size);

/* End everything that was started, reap it and remove its files; a second call does nothing. */
void load_set_stop(struct load_set *set);

/* Stop and free @set, which may be NULL. */
void load_set_free(struct load_set *set);

#endif
