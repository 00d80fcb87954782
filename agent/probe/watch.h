/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Periods as another thread sees them.
 *
 * A loop shows each beginning of a period, an edge, by counting it in a pulse: a
 * page as the module rtloop maps it.
 * An observer that watches the count without a pause reads the clock when it
 * changes; the error of that time is at most the time since the look before it
 * began. Where that is longer than the limit, because the observer itself was
 * kept from its CPU, the edge's time is taken from the loop's own clock, which
 * the pulse keeps for the last edges, and the periods next to it are counted as
 * uncertain.
 * Older edges than the pulse keeps are unseen, and no period is made of them.
 */
#ifndef RTSCOPE_WATCH_H
#define RTSCOPE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "rtloop/rtloop.h"
#include "session/session.h"

#define PULSE_MARKS RTLOOP_MARKS

struct limits {
	uint64_t interval_ns;
	uint64_t low_ns;  /* a shorter period is under, */
	uint64_t high_ns; /* a longer one over */
	uint64_t gap_ns;  /* of the observer, that is no error yet */
};

struct watch {
	struct rtloop_page *pulse;
	struct measuring *measuring;		    /* the loop's; NULL until it runs */
	uint64_t seen __attribute__((aligned(64))); /* edges looked at */
	uint64_t edge_ns;
	bool known; /* the last edge has a time, */
	bool sure;  /* and it was seen from outside */
	uint64_t in_range, over, under;
	uint64_t in_20pct, over_20pct, under_20pct;
	uint64_t uncertain;
	uint64_t unseen;
};

/* The time since the observer's previous reading. */
struct gaps {
	struct histogram histogram;
	uint64_t count;
	uint64_t max_ns;
	uint64_t long_count;
};

/* By the loop: an edge at @now_ns; @begins where no period ends with it. */
static inline void pulse_show(struct rtloop_page *pulse, uint64_t now_ns, bool begins)
{
	uint64_t edge = pulse->edges + 1;

	/* Release: a reader of this mark also sees that the edge before it was counted. */
	__atomic_store_n(&pulse->mark[edge % PULSE_MARKS], now_ns << 1 | begins, __ATOMIC_RELEASE);
	__atomic_store_n(&pulse->edges, edge, __ATOMIC_RELEASE);
}

static inline uint64_t pulse_edges(const struct rtloop_page *pulse)
{
	return __atomic_load_n(&pulse->edges, __ATOMIC_ACQUIRE);
}

static inline void gaps_add(struct gaps *gaps, const struct limits *limits, uint64_t gap_ns)
{
	histogram_add(&gaps->histogram, gap_ns);
	gaps->count++;
	gaps->long_count += gap_ns > limits->gap_ns;
	if (gap_ns > gaps->max_ns)
		gaps->max_ns = gap_ns;
}

/* An edge at @at_ns, @sure where that is from outside. */
void watch_edge(struct watch *watch, const struct limits *limits, uint64_t at_ns, bool begins,
		bool sure);

/* All edges up to @edges, the last of which came between @before_ns and @now_ns. */
void watch_look(struct watch *watch, const struct limits *limits, uint64_t edges,
		uint64_t before_ns, uint64_t now_ns);

/* Give the loop's thread its metrics; @gaps is NULL where nobody watched. */
void watch_report(const struct watch *watch, const struct limits *limits, const struct gaps *gaps);

#endif
