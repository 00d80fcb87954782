/* SPDX-License-Identifier: GPL-2.0-only */
/* Which threads took a program's events, by name. */
#ifndef RTSCOPE_SIGNAL_TAKERS_H
#define RTSCOPE_SIGNAL_TAKERS_H

#include "probe/signal_events.h"

/* @taker is the thread of @measuring; one that is never named is the agent's main thread. */
void takers_name(unsigned int taker, const struct measuring *measuring);

/* Add the list "takers" of @events, who took most first. */
void takers_put(const struct events *events, struct json *json);

/* The same for a person, as a table below its title. */
void takers_print(const struct events *events, const char *title);

#endif
