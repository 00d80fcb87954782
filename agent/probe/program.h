/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program of SLAC's report on Linux in control systems (K. Kim, 2013): a main
 * thread of ordinary priority, which is the agent's own, a thread that waits for
 * events, which is the probe's, and 29 others at the report's mixture of
 * priorities. One of these is busy on each CPU, those of the highest priorities
 * first; the rest wait.
 */
#ifndef RTSCOPE_PROGRAM_H
#define RTSCOPE_PROGRAM_H

#include "probe/takers.h"

#define PROGRAM_OTHERS	 29
#define PROGRAM_PRIORITY 94 /* of the thread that waits */

/* Who may take an event: the main thread, one of the others (from 1), the thread that waits. */
#define TAKER_MAIN   0
#define TAKER_WAITER (PROGRAM_OTHERS + 1)

/* Take --busy, the percentage of each CPU that it computes. */
int program_take_busy(const char *text, char *error, size_t error_size);
unsigned int program_busy_percent(void);

/*
 * Add the roles of the others to the probe's @count. Each thread that handles
 * events does so by @signal; 0: none does. Returns how many roles there are.
 */
int program_plan(const struct cpus *cpus, int signal, struct role *roles, int count);

/* Each of the probe's own threads begins so. @handle: its part of the program handles events. */
void program_settle(const struct measuring *measuring, unsigned int taker, bool handle);

/* Return when all threads have begun, the main thread included, or the run is over. */
void program_await(const struct control *control);

#endif
