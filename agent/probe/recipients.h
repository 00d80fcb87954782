/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a program that may receive its events: the recipient and latency of each event. */
#ifndef RTSCOPE_RECIPIENTS_H
#define RTSCOPE_RECIPIENTS_H

#include "session/session.h"

#define RECIPIENTS_MAX 32

/* The events of one series. */
struct recipients {
	uint64_t deadline_ns;
	uint64_t noted;
	uint64_t violations;
	uint64_t taken_by[RECIPIENTS_MAX];
};

/* The number of the calling thread as a recipient. */
extern __thread unsigned int event_recipient;

/* Register the calling thread, that of @measuring. An unregistered one is the main thread. */
void recipients_name(unsigned int recipient, const struct measuring *measuring);

/*
 * Add an event of @stamp_ns, taken on @cpu, to the record of @measuring. Returns what record_add()
 * does.
 */
bool recipients_note(struct recipients *recipients, struct measuring *measuring, uint64_t stamp_ns,
		     uint64_t taken_ns, unsigned int recipient, int cpu);

/* The metrics that recipients_report() reports, for a probe's list. */
#define RECIPIENTS_METRICS                                                                    \
	"jitter_ns", "deadline_violations", "lost", "taken_by_own_thread", "taken_by_others", \
		"threads_that_took"

/* Report the metrics. @own: the recipient that is a dedicated thread for these events. */
void recipients_report(const struct recipients *recipients, struct measuring *measuring,
		       unsigned int own, uint64_t lost);

/* Add the list "takers", those with most events first. */
void recipients_put(const struct recipients *recipients, struct json *json);

/* Print the list as a table below its title. */
void recipients_print(FILE *out, const struct recipients *recipients, const char *title);

#endif
