/* SPDX-License-Identifier: GPL-2.0-only */
/* What the verb tune does. Each action returns an exit status. */
#ifndef RTSCOPE_TUNE_ACTIONS_H
#define RTSCOPE_TUNE_ACTIONS_H

#include <stdbool.h>

#include "tune/rules.h"

struct tune_request {
	const char *profile; /* NULL: none was named */
	const char *journal; /* its folder */
	bool keep;	     /* hold: restore nothing at the end */
	uint64_t poll_ns; /* hold: time between two reads of what others may set back; 0: never */
	bool json;	  /* JSON lines; else text */
	struct tune_rules rules;
};

int tune_show(struct tune_request *asked);
int tune_apply(struct tune_request *asked);
int tune_undo_profile(struct tune_request *asked);
int tune_print_status(struct tune_request *asked);
int tune_hold(struct tune_request *asked);

/* Print @text on standard error. Returns @status. */
int tune_fail(int status, const char *text);

#endif
