/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a program that may take its events: who took each, and how late. */
#ifndef RTSCOPE_TAKERS_H
#define RTSCOPE_TAKERS_H

#include "session/session.h"

#define TAKERS_MAX 32

/* The events of one series. */
struct takers {
	uint64_t deadline_ns;
	uint64_t noted;
	uint64_t violations;
	uint64_t taken_by[TAKERS_MAX];
};

/* Which taker the calling thread is. */
extern __thread unsigned int event_taker;

/* The calling thread, which is that of @measuring, is @taker; an unnamed one is the main thread. */
void takers_name(unsigned int taker, const struct measuring *measuring);

/*
 * Add an event of @stamp_ns, taken on @cpu, to the record of @measuring. Returns what record_add()
 * does.
 */
bool takers_note(struct takers *takers, struct measuring *measuring, uint64_t stamp_ns,
		 uint64_t taken_ns, unsigned int taker, int cpu);

/* The facts that takers_tell() tells, for a probe's list. */
#define TAKERS_FACTS                                                                          \
	"jitter_ns", "deadline_violations", "lost", "taken_by_own_thread", "taken_by_others", \
		"threads_that_took"

/* @own: the taker that is a thread for these events alone. */
void takers_tell(const struct takers *takers, struct measuring *measuring, unsigned int own,
		 uint64_t lost);

/* Add the list "takers", who took most first. */
void takers_put(const struct takers *takers, struct json *json);

/* The same for a person, as a table below its title. */
void takers_print(FILE *out, const struct takers *takers, const char *title);

#endif
