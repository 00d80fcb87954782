/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb table: everything the agent can be asked to do. */
#ifndef RTSCOPE_VERBS_H
#define RTSCOPE_VERBS_H

#include <stdbool.h>

struct verb {
	const char *name;
	const char *summary;
	int (*main)(int argc, char **argv);
	bool probe;
};

extern const struct verb verbs[]; /* ends with a NULL name */

#endif
