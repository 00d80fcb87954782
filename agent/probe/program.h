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

#include "probe/recipients.h"

#define PROGRAM_OTHERS 29

/* Who may take an event: the main thread, one of the others (from 1), the thread that waits. */
#define RECIPIENT_MAIN	 0
#define RECIPIENT_WAITER (PROGRAM_OTHERS + 1)

/* The share of each CPU that the program computes, and its option. */
extern unsigned int program_busy_percent;
#define PROGRAM_BUSY                                                         \
	{ .name = "busy",                                                    \
	  .kind = OPTION_UINT,                                               \
	  .metavar = "PERCENT",                                              \
	  .unit = "percent",                                                 \
	  .max = 80,                                                         \
	  .preset = "40",                                                    \
	  .help = "Share of each CPU that the program computes, in percent", \
	  .value = &program_busy_percent }

/* The priority of the thread that waits, and 360 Hz to the us. */
#define PROGRAM_PRESETS { "priority", "94" }, { "interval", "2778us" }

/*
 * Add the roles of the others to the probe's @count. Each thread that handles
 * events does so by @signal; 0: none does. Returns how many roles there are.
 */
int program_plan(const struct cpus *cpus, int signal, struct role *roles, int count);

/* Each of the probe's own threads begins so. @handle: its part of the program handles events. */
void program_settle(const struct measuring *measuring, unsigned int recipient, bool handle);

/* Return when all threads have begun, the main thread included, or the run is over. */
void program_await(const struct control *control);

#endif
