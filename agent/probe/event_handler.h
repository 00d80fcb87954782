/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that a handler of SIGIO takes, in whichever thread of the program it runs. */
#ifndef RTSCOPE_EVENT_HANDLER_H
#define RTSCOPE_EVENT_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "rtevent/rtevent.h"

struct handled {
	struct rtevent_event event;
	uint64_t taken_ns;
	unsigned int recipient;
	int cpu;
	bool merged; /* with an earlier one */
	bool full;
};

/* Have the events of @device taken in any thread that does not block SIGIO. */
void handler_install(int device);

/* What was taken first and is still here; NULL: nothing is. */
const struct handled *handler_first(void);

/* That may go. */
void handler_forget(void);

#endif
