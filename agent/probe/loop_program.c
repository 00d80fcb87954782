// SPDX-License-Identifier: GPL-2.0-only
/* The loops of a program. They take turns. */
#include "base/clock.h"
#include "probe/loop.h"

static void show_period(struct watch *watch, uint64_t now_ns, bool begins)
{
	if (loop.observer == OBSERVER_SELF)
		watch_edge(watch, &loop.limits, now_ns, begins, true);
	else
		pulse_show(watch->pulse, now_ns, begins);
}

/* Loop until the turn is over at @end_ns. False when measuring is. */
static bool take_turn(struct measuring *measuring, struct period *period, uint64_t end_ns)
{
	struct record *record = &measuring->record;
	bool begins = true;
	uint64_t next_ns;

	for (;;) {
		period->woke_ns = clock_now_ns();
		show_period(&loop.watch[measuring->index], period->woke_ns, begins);
		begins = false;
		record_set(record->missed, period->missed);
		if (record_get(record->threshold_reached))
			return false;
		clock_work(loop.work_ns);
		next_ns = period_next_ns(period);
		if (next_ns >= end_ns)
			return true;
		if (!measuring_goes_on(measuring, next_ns) || period_sleep(period))
			return false;
	}
}

/* Until the turn begins, in steps that a short lease covers. False when measuring is over. */
bool loop_await_turn(struct measuring *measuring, uint64_t start_ns)
{
	uint64_t step_ns = measuring->options->watchdog_ns / 2, now_ns;

	while (start_ns > (now_ns = clock_now_ns()) + step_ns) {
		if (!measuring_goes_on(measuring, now_ns + step_ns) ||
		    clock_sleep_until(now_ns + step_ns))
			return false;
	}
	return measuring_goes_on(measuring, start_ns) && !clock_sleep_until(start_ns);
}

void loop_in_program(struct measuring *measuring)
{
	struct watch *watch = &loop.watch[measuring->index];
	uint64_t start_ns = measuring->start_ns, turn_ns = loop.turn_ns;
	struct period period;

	measuring->record.cpu = measuring->role.cpu; /* the observer may add the samples */
	watch->measuring = measuring;
	if (loop.loops == 1)
		turn_ns = UINT64_MAX - start_ns;
	else
		start_ns += measuring->index * turn_ns;
	measuring->error =
		period_open(&period, loop.method + measuring->index, loop.limits.interval_ns);
	while (!measuring->error && loop_await_turn(measuring, start_ns)) {
		measuring->error = period_begin(&period, start_ns);
		if (measuring->error || !take_turn(measuring, &period, start_ns + turn_ns))
			break;
		start_ns += loop.loops * turn_ns;
	}
	period_close(&period);
	if (loop.observer == OBSERVER_SELF)
		watch_report(watch, &loop.limits, NULL);
}
