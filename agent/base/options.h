/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options as tables. A command's options are declared once, in a table: parsing,
 * --help, refusals, `rtscope-agent describe` and the protocol's start line come from it.
 */
#ifndef RTSCOPE_OPTIONS_H
#define RTSCOPE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum option_kind {
	OPTION_FLAG,	/* bool; takes no value */
	OPTION_NUMBER,	/* uint64_t */
	OPTION_UINT,	/* unsigned int */
	OPTION_TIME,	/* uint64_t, in ns */
	OPTION_CHOICE,	/* unsigned int: an index into @choices */
	OPTION_EITHER,	/* bool: whether it is the second of two @choices */
	OPTION_TEXT,	/* const char * */
	OPTION_WORDS,	/* const char *[@max]; may be repeated; *@count of them are set */
	OPTION_PARSED,	/* anything, by @parse */
	OPTION_ACTION,	/* by @parse; takes no value */
	OPTION_IGNORED, /* a flag of cyclictest that changes nothing here */
};

struct option_spec {
	const char *name;  /* long, without dashes; NULL ends a table */
	const char *alias; /* another long name; NULL: none */
	char letter;	   /* 0: none */
	bool zero;	   /* 0 is accepted below @min */
	bool internal;	   /* for rtscope, not for users: not in --help */
	bool silent;	   /* not in the protocol's start line */
	enum option_kind kind;
	const char *metavar;  /* in --help; NULL: by @kind */
	const char *help;     /* an imperative or a noun phrase */
	const char *preset;   /* the default, as a user writes it; NULL: none */
	const char *computed; /* a default that is computed, in words; NULL: none */
	const char *unit;     /* of a number, such as "percent"; NULL: none */
	uint64_t bare_ns;     /* OPTION_TIME: unit of a bare number; 0: us */
	uint64_t min, max; /* of numbers and times; @max 0: INT64_MAX; of OPTION_WORDS: how many */
	uint64_t step;	   /* multiples of it; 0: any */
	const char *const *choices; /* NULL-terminated */
	const char *wanted;	    /* OPTION_PARSED: completes "--x 'y' is not …" */
	bool (*parse)(const char *text, void *value);
	void *value;
	unsigned int *count; /* OPTION_WORDS */
	bool *given;	     /* set when the option is on the command line; may be NULL */
};

/* A default of one command that differs from the table's. */
struct option_preset {
	const char *name;
	const char *text; /* NULL: the option does not apply to this command */
};

/* A command line's options: its own table, then the table of all commands of its kind. */
struct option_set {
	const char *command;		     /* as in "rtscope-agent COMMAND" */
	const struct option_spec *own;	     /* may be NULL */
	const struct option_spec *common;    /* may be NULL */
	const struct option_preset *presets; /* of @common, a NULL name last; may be NULL */
};

/*
 * Set every default, then read argv[1] to argv[argc - 1]. Words that are not options are moved to
 * argv[1] on, in their order, with NULL after them. Returns how many they are, or -1 with a
 * sentence in @error.
 */
int options_parse(const struct option_set *set, int argc, char **argv, char *error,
		  size_t error_size);

/*
 * Refuse the options @names, divided by blanks, the one to change first. Put the sentence into
 * @error, and return -1. A check of several options at once calls this, too.
 */
int options_refuse(char *error, size_t error_size, const char *names, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Write a line of the type "refusal": the options of the last one, and the sentence @text. */
void options_write_refusal(struct json *json, const char *text);

/* Print a line or more for each option of @table: name, help, range and default. */
void options_help(const struct option_spec *table, const struct option_preset *presets, FILE *out);

/* Describe @table as an array @key. */
void options_describe(const struct option_spec *table, struct json *json, const char *key);

/* Write what is set, as members of the start line's object "options". */
void options_report(const struct option_spec *table, struct json *json);

/*
 * Read "200us", "1.5ms" or "30s" into nanoseconds; a bare number counts
 * @bare_unit_ns each. Returns false when @text is no such time.
 */
bool option_time(const char *text, uint64_t bare_unit_ns, uint64_t *ns);

/* Read a decimal number of at most @max. Returns false when @text is none. */
bool option_number(const char *text, uint64_t max, uint64_t *number);

#endif
