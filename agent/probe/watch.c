// SPDX-License-Identifier: GPL-2.0-only
/* Periods from edges, and what is counted of them. */
#include "probe/watch.h"

static void count(uint64_t period_ns, uint64_t low_ns, uint64_t high_ns, uint64_t *in_range,
		  uint64_t *over, uint64_t *under)
{
	*in_range += period_ns >= low_ns && period_ns <= high_ns;
	*over += period_ns > high_ns;
	*under += period_ns < low_ns;
}

static void add_period(struct watch *watch, const struct limits *limits, uint64_t end_ns, bool sure)
{
	struct measuring *measuring = watch->measuring;
	uint64_t interval_ns = limits->interval_ns, period_ns;

	if (measuring->record.count >= measuring->samples)
		return;
	/* Early: the loop's clock may be behind the observer's, which gave the edge before. */
	if (!record_add(&measuring->record, watch->edge_ns, end_ns))
		return;
	period_ns = measuring->record.last_ns;
	count(period_ns, limits->low_ns, limits->high_ns, &watch->in_range, &watch->over,
	      &watch->under);
	count(period_ns, interval_ns - interval_ns / 5, interval_ns + interval_ns / 5,
	      &watch->in_20pct, &watch->over_20pct, &watch->under_20pct);
	watch->uncertain += !sure || !watch->sure;
}

void watch_edge(struct watch *watch, const struct limits *limits, uint64_t at_ns, bool begins,
		bool sure)
{
	if (watch->known && !begins)
		add_period(watch, limits, at_ns, sure);
	watch->edge_ns = at_ns;
	watch->known = true;
	watch->sure = sure;
}

void watch_look(struct watch *watch, const struct limits *limits, uint64_t edges,
		uint64_t before_ns, uint64_t now_ns)
{
	while (watch->seen < edges) {
		uint64_t edge = ++watch->seen;
		uint64_t mark =
			__atomic_load_n(&watch->pulse->mark[edge % PULSE_MARKS], __ATOMIC_ACQUIRE);
		bool sure = edge == edges && now_ns - before_ns <= limits->gap_ns;

		/* The mark of edge + PULSE_MARKS is written when one edge less has been counted. */
		if (pulse_edges(watch->pulse) - edge >= PULSE_MARKS - 1) {
			watch->known = false;
			watch->unseen++;
			continue;
		}
		watch_edge(watch, limits, sure ? now_ns : mark >> 1, mark & 1, sure);
	}
}

void watch_report(const struct watch *watch, const struct limits *limits, const struct gaps *gaps)
{
	struct measuring *measuring = watch->measuring;
	double interval_ns = (double)limits->interval_ns;
	const struct record *record;

	if (!measuring)
		return;
	record = &measuring->record;
	measuring_metric(measuring, "in_range", (double)watch->in_range);
	measuring_metric(measuring, "over", (double)watch->over);
	measuring_metric(measuring, "under", (double)watch->under);
	measuring_metric(measuring, "in_range_20pct", (double)watch->in_20pct);
	measuring_metric(measuring, "over_20pct", (double)watch->over_20pct);
	measuring_metric(measuring, "under_20pct", (double)watch->under_20pct);
	if (record->count) {
		measuring_metric(measuring, "expected", (double)record->sum_ns / interval_ns);
		measuring_metric(measuring, "drift_ns_per_s",
				 (record_mean_ns(record) / interval_ns - 1) * 1e9);
		measuring_metric(measuring, "longest_ns", (double)record->max_ns);
		measuring_metric(measuring, "shortest_ns", (double)record->min_ns);
	}
	if (!gaps)
		return;
	measuring_metric(measuring, "uncertain", (double)watch->uncertain);
	measuring_metric(measuring, "unseen", (double)watch->unseen);
	measuring_metric(measuring, "observer_gaps", (double)gaps->long_count);
	measuring_metric(measuring, "observer_gap_median_ns",
			 (double)histogram_tail_ns(&gaps->histogram, gaps->count / 2,
						   gaps->max_ns));
	measuring_metric(measuring, "observer_gap_max_ns", (double)gaps->max_ns);
}
