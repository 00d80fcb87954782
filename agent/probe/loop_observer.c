// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watching loops from another CPU.
 *
 * The observer is SCHED_FIFO too, or load would keep it from its CPU, but of the
 * lowest priority, and it leaves the CPU to others: it sleeps for half an interval
 * after each edge, and shortly where none comes. An edge that comes meanwhile is
 * known from the loop's own clock alone, and counted as uncertain. On a CPU that
 * nothing else needs it may be asked never to rest.
 */
#include "base/clock.h"
#include "probe/loop.h"

#define SPIN_MAX_NS (10 * NSEC_PER_MSEC) /* without an edge, then others may run */
#define REST_NS	    NSEC_PER_MSEC

/* Apart from what has an initial value: its histogram stays out of the file. */
static struct gaps gaps;

/* Look at every loop once. True when one had a new edge. */
static bool look(uint64_t before_ns, uint64_t last_ns, uint64_t *now_ns)
{
	uint64_t edges[LOOPS_MAX];
	bool found = false;

	for (unsigned int i = 0; i < loop.loops; i++)
		edges[i] = pulse_edges(loop.watch[i].pulse);
	*now_ns = clock_now_ns();
	gaps_add(&gaps, &loop.limits, *now_ns - last_ns);
	for (unsigned int i = 0; i < loop.loops; i++) {
		if (edges[i] == loop.watch[i].seen)
			continue;
		watch_look(&loop.watch[i], &loop.limits, edges[i], before_ns, *now_ns);
		found = true;
	}
	return found;
}

/* Leave the CPU until @until_ns; the observer is away for no longer than that on purpose. */
static uint64_t rest(uint64_t until_ns)
{
	int ended = clock_sleep_until(until_ns);
	uint64_t now_ns = clock_now_ns();

	if (!ended)
		gaps_add(&gaps, &loop.limits, now_ns - until_ns);
	return now_ns;
}

/*
 * Watch the loops until measuring has ended. An edge that is new to a look came
 * after the look before it had begun, so after the clock was read before that.
 */
void loop_observe(struct measuring *measuring)
{
	uint64_t now_ns, before_ns, last_ns, rested_ns;

	clock_sleep_until(measuring->start_ns); /* else a thread that starts with it may not get a CPU */
	now_ns = before_ns = last_ns = rested_ns = clock_now_ns();
	while (record_get(measuring->control->until_ns)) {
		bool found = look(before_ns, last_ns, &now_ns);

		before_ns = last_ns;
		last_ns = now_ns;
		if (loop.restless)
			continue;
		if (found)
			last_ns = rested_ns = rest(now_ns + loop.limits.interval_ns / 2);
		else if (now_ns - rested_ns > SPIN_MAX_NS)
			last_ns = rested_ns = rest(now_ns + REST_NS);
	}
	look(before_ns, last_ns, &now_ns);
	for (unsigned int i = 0; i < loop.loops; i++)
		watch_report(&loop.watch[i], &loop.limits, &gaps);
}
