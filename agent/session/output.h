/* SPDX-License-Identifier: GPL-2.0-only */
/* The two ways of writing a session: the protocol, and cyclictest's lines. */
#ifndef RTSCOPE_SESSION_OUTPUT_H
#define RTSCOPE_SESSION_OUTPUT_H

#include "proc/outlet.h"
#include "session/session.h"

struct throttling;
struct tune_change;

struct session {
	const struct probe *probe;
	struct session_options options;
	struct control control;
	struct cpus usable;
	struct cpus cpus;
	struct measuring *measuring;
	unsigned int threads;
	unsigned int rows; /* threads that have metrics */
	struct load_set *loads;
	uint64_t load_base[LOADS_MAX][LOAD_UNITS_MAX];
	uint64_t load_start_ns;
	uint64_t load_begun_ns;	       /* when the loads were started, */
	uint64_t load_up_ns;	       /* when all of them worked, */
	uint64_t load_gone_ns;	       /* and when nothing of them was left */
	enum tristate high_resolution; /* before the start, then at the end */
	struct throttling *throttling; /* before the start */
	uint64_t start_ns;
	uint64_t end_ns;   /* UINT64_MAX: no end */
	bool drawn;	   /* a table is on the terminal */
	struct outlet out; /* standard output */
	struct outlet err; /* standard error */
	struct json json;  /* of @out, with --json */
	FILE *text;	   /* of @out, without */
	uint64_t progress_dropped;
	uint64_t blocked_since_ns;   /* nothing could be written since then; 0: it can */
	uint64_t blocked_longest_ns; /* while measuring */
};

/* Start writing through outlets. Returns 0 or an errno. */
int output_open(struct session *session);

/* Let lines be dropped, each as a whole, where nobody reads them; or keep all of them. */
void output_may_drop(struct session *session, bool may_drop);

/* Wait until all was written, at most until @until_ns. Returns whether it was. */
bool output_wait(struct session *session, uint64_t until_ns);

/* Hand what was printed to session.text to the writer. */
void output_end_text(struct session *session);

/* Print a sentence for a person, on standard error. */
void output_complain(struct session *session, const char *before, const char *text);

void output_warning(struct session *session, const char *code, const char *text);
void output_change(struct session *session, const struct tune_change *change);
void output_start(struct session *session);
void output_progress(struct session *session, uint64_t now_ns);
void output_result(struct session *session, uint64_t end_ns);
void output_end(struct session *session, const char *status, uint64_t end_ns);

/* Whether somebody still reads what is written. */
bool output_wanted(struct session *session);

/*
 * Return whether the reader has taken all that was written before, so that one more progress line
 * or table may be. Counts those that may not.
 */
bool output_may_progress(struct session *session, uint64_t now_ns);

/* Warn if the output was blocked for long while measuring. */
void output_report_blocked(struct session *session);

#endif
