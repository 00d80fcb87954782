/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of commands: everything the agent can be asked to do. */
#ifndef RTSCOPE_VERBS_H
#define RTSCOPE_VERBS_H

struct option_spec;
struct probe;

struct verb {
	const char *name;
	const char *summary;
	int (*main)(int argc, char **argv);
	const struct option_spec *options;
	const struct probe *probe; /* which has its own summary and options; NULL: no probe */
};

extern const struct verb verbs[]; /* ends with a NULL name */

#endif
