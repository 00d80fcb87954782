/* SPDX-License-Identifier: GPL-2.0-only */
/* One setting of the system that is changed, and the state of that change. */
#ifndef RTSCOPE_TUNE_CHANGE_H
#define RTSCOPE_TUNE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define TUNE_VALUE_SIZE 4096
#define TUNE_WHY_SIZE	320

enum tune_state {
	TUNE_PLANNED,
	TUNE_APPLIED,
	TUNE_NOT_HELD, /* another program has set it back */
	TUNE_FAILED,
	TUNE_IMMOVABLE, /* the kernel does not allow to change it */
	TUNE_RESTORED,
	TUNE_LEFT,  /* changed by others since: not ours any more */
	TUNE_GONE,  /* its thread, interrupt or file is gone */
	TUNE_STALE, /* it ended with an earlier boot */
	TUNE_IN_EFFECT,
	TUNE_SET_BACK,
};

enum tune_effect {
	EFFECT_FULL,
	EFFECT_TO_COME,
	EFFECT_NONE,
};

/*
 * A kind of thing: how it is read and written. A key names one thing of the kind, and is good for
 * as long as that lives: a thread's holds its start. Both return 0 or an errno, ESRCH where it has
 * ended.
 */
struct tune_kind {
	const char *name;
	int (*read)(const char *key, char *value, size_t size);
	int (*write)(const char *key, const char *value);
	/*
	 * In place of write, where that outlives a boot: ESTALE, and nothing is written, where it is
	 * no longer at @before.
	 */
	int (*replace)(const char *key, const char *before, const char *value);
	/* Whether two values mean the same; NULL: where they are the same text. */
	bool (*same)(const char *one, const char *other);
	/* Name it for people, and say where it is. */
	void (*describe)(const char *key, char *what, char *where, size_t size);
	/* Why nobody can change it, where a write that ended with @error means that; else NULL. */
	const char *(*immovable)(int error);
	/* Whether it acts as it reads; if not in full @why, in a sentence. NULL: it always does. */
	enum tune_effect (*effect)(const char *key, const char *value, char *why, size_t size);
	/* The capability without which this process may not change it; NULL: it may. */
	const char *(*lacking)(const char *key, const char *value);
	/*
	 * Whether the kernel itself has given up @value, as that of CPUs that are all unplugged, and
	 * put another in its place; NULL: it never does.
	 */
	bool (*given_up)(const char *value);
	const char *delayed;	   /* why it reads as before for a while; NULL: it does not */
	const char *ended;	   /* what ESRCH means; NULL: that it has ended */
	const char *io_error;	   /* what EIO means; NULL: no more than it says */
	const char *const *rivals; /* programs that are known to set it back, a NULL last */
	bool lasting;		   /* outlives a boot */
};

extern const struct tune_kind tune_thread_policy, tune_thread_nice, tune_thread_cpus,
	tune_interrupt, tune_file, tune_partition, tune_irqbalance, tune_boot, tune_latency,
	tune_side_effect;
extern const struct tune_kind *const tune_kinds[]; /* ends with NULL */

struct tune_rule;

struct tune_change {
	const struct tune_kind *kind;
	const struct tune_rule *rule; /* that asks for it; NULL: read from the journal */
	char *profile;
	char *key;
	char *old_value;
	char *new_value;
	uint64_t number; /* its entry in the journal */
	enum tune_state state;
	char why[TUNE_WHY_SIZE]; /* a sentence, or empty */
};

/* What it points to. */
void tune_change_free(struct tune_change *change);

struct tune_plan {
	struct tune_change *change;
	size_t count;
	size_t room;
	bool memory_short; /* not all changes could be stored */
};

/*
 * Have @key, which is at @old_value, at @new_value: planned, or in effect where it is there already.
 * NULL where the plan has it already, and where there is no memory.
 */
struct tune_change *tune_plan_want(struct tune_plan *plan, const struct tune_kind *kind,
				   const char *key, const char *old_value, const char *new_value);
/* Whether one of its changes has this entry in the journal. */
bool tune_plan_has(const struct tune_plan *plan, uint64_t number);
/* Take out what is @state, from @first on. */
void tune_plan_drop(struct tune_plan *plan, size_t first, enum tune_state state);
void tune_plan_clear(struct tune_plan *plan);

/* Write @value; @before is what was read last. 0 or an errno. */
int tune_write(const struct tune_kind *kind, const char *key, const char *before,
	       const char *value);

/* What an errno of @kind means, for people. */
const char *tune_error_text(const struct tune_kind *kind, int error);

bool tune_same(const struct tune_kind *kind, const char *one, const char *other);

/* Put a question mark for whatever may steer a terminal: names are untrusted. */
void tune_plain(char *text);

/* A line of the type "change". */
void tune_change_send(struct json *json, const struct tune_change *change);
/* The same for a person. */
void tune_change_print(FILE *file, const struct tune_change *change);

#endif
