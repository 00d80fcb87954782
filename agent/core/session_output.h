/* SPDX-License-Identifier: GPL-2.0-only */
/* The two ways of writing a session: the protocol, and cyclictest's lines. */
#ifndef RTSCOPE_SESSION_OUTPUT_H
#define RTSCOPE_SESSION_OUTPUT_H

#include "core/session.h"

struct session {
	const struct probe *probe;
	struct session_options options;
	struct control control;
	struct cpus usable;
	struct cpus cpus;
	struct measuring *measuring;
	unsigned int threads;
	unsigned int rows; /* threads that have figures */
	struct load_set *loads;
	uint64_t load_base[LOADS_MAX][LOAD_UNITS_MAX];
	uint64_t load_start_ns;
	uint64_t load_begun_ns;	       /* when the loads were started, */
	uint64_t load_up_ns;	       /* when all of them worked, */
	uint64_t load_gone_ns;	       /* and when nothing of them was left */
	enum tristate high_resolution; /* before the start, then at the end */
	uint64_t start_ns;
	uint64_t end_ns; /* UINT64_MAX: no end */
	bool drawn;	 /* a table is on the terminal */
	struct json json;
};

void output_warning(struct session *session, const char *code, const char *text);
void output_start(struct session *session);
void output_progress(struct session *session, uint64_t now_ns, uint64_t window);
void output_result(struct session *session, uint64_t end_ns);
void output_end(struct session *session, const char *status, uint64_t end_ns);

/* Whether somebody still reads what is written. */
bool output_wanted(struct session *session);

/* Whether a progress line can be written without waiting for the reader. */
bool output_has_room(struct session *session);

#endif
