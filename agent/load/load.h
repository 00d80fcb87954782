/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads: background work that runs beside a measurement.
 *
 * A set of loads is parsed from the command line, started, read while the
 * measurement runs, and stopped. Everything a load starts dies with the run,
 * whatever ends it.
 */
#ifndef RTSCOPE_LOAD_H
#define RTSCOPE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_UNITS_MAX	4
#define LOADS_MAX	16

struct load_set;

/* Names of all loads, NULL-terminated: "cpu", "memory", ... */
const char *const *load_names(void);

/* One line of help for a name of load_names(). */
const char *load_help(const char *name);

struct load_set *load_set_new(uint64_t seed);

/*
 * Add the loads of @spec: "idle", "mixed", "files:50", "files:50+network:1",
 * "stress-ng:--cpu 2", "cmd:make -j4". Returns 0, or -1 with a sentence in
 * @error.
 */
int load_set_parse(struct load_set *set, const char *spec, char *error,
		   size_t error_size);

/*
 * Start every load and wait until each has done work (or @timeout_ns passed).
 * Returns 0, or -1 with a sentence in @error and nothing left running.
 * @warn is called with a code and a sentence for anything that lessens what
 * the load is worth or how safely it can be ended.
 */
int load_set_start(struct load_set *set, uint64_t timeout_ns,
		   void (*warn)(const char *code, const char *text),
		   char *error, size_t error_size);

/* Number of loads in the set (mixed counts as its parts); 0 when idle. */
unsigned int load_set_size(const struct load_set *set);

struct load_work {
	const char *name;		/* "files", "cmd:make -j4" */
	unsigned int strength;		/* workers; 0 where it has no meaning */
	uint64_t seed;
	unsigned int units;
	const char *unit[LOAD_UNITS_MAX];
	uint64_t total[LOAD_UNITS_MAX];	/* work done since load_set_start() */
};

/* Read the work of load @index so far; cheap, never blocks. */
void load_set_read(const struct load_set *set, unsigned int index,
		   struct load_work *work);

/*
 * False once a load that should run for the whole measurement has ended by
 * itself; @text then says which and how.
 */
bool load_set_alive(struct load_set *set, char *text, size_t size);

/* End everything that was started, reap it and remove its files. */
void load_set_stop(struct load_set *set);
void load_set_free(struct load_set *set);

#endif
