// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program's points contain the end, the length and the thread of the last cycle beyond the budget.
 * They are polled; of several such cycles between two polls, one is seen and the others are counted.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "probe/response.h"
#include "proc/points_page.h"

#define POLL_NS (10 * NSEC_PER_MSEC)

static struct points_target target;
static const char *point_name; /* NULL: all */
static uint64_t seen_end_ns[POINTS_PAGES_MAX][RTSCOPE_POINTS_MAX];
static uint64_t seen_over[POINTS_PAGES_MAX][RTSCOPE_POINTS_MAX];
static uint64_t unseen;
static bool is_old;

static bool is_wanted(const struct rtscope_point *point)
{
	return !point_name || !strncmp(point->name, point_name, RTSCOPE_NAME_SIZE);
}

static const struct rtscope_figures *figures_of(const struct rtscope_point *point)
{
	return &point->figures[__atomic_load_n(&point->bank, __ATOMIC_ACQUIRE) & 1];
}

/* Take what is there now as seen. Returns whether a wanted point has a budget. */
static bool begin(void)
{
	bool found = false;

	for (unsigned int i = 0; i < target.count; i++) {
		const struct points_page *page = &target.page[i];

		for (unsigned int j = 0; j < points_count(page); j++) {
			const struct rtscope_point *point = &page->memory->point[j];
			const struct rtscope_figures *figures = figures_of(point);

			if (is_wanted(point) && point->budget_ns != RTSCOPE_NO_BUDGET)
				found = true;
			seen_end_ns[i][j] = record_get(figures->late_end_ns);
			seen_over[i][j] = record_get(figures->over_budget);
		}
	}
	return found;
}

int response_points_open(pid_t pid, const char *point, char *error, size_t error_size)
{
	point_name = point;
	if (points_open(&target, pid, false, error, error_size))
		return -1;
	if (begin())
		return 0;
	snprintf(error, error_size,
		 "%s has no measurement point %s%swith a budget: give one to rtscope_point_add()",
		 target.name, point ? point : "", point ? " " : "");
	return -1;
}

static void take(struct measuring *measuring, const struct rtscope_figures *figures,
		 uint64_t *seen_ns, uint64_t *over)
{
	uint64_t count = record_get(figures->over_budget), end_ns, late_ns, tid;

	if (count == *over)
		return;
	end_ns = __atomic_load_n(&figures->late_end_ns, __ATOMIC_ACQUIRE);
	late_ns = record_get(figures->late_ns);
	tid = record_get(figures->late_tid);
	if (__atomic_load_n(&figures->late_end_ns, __ATOMIC_ACQUIRE) != end_ns)
		return; /* another one ends just now */
	is_old |= !end_ns;
	if (count > *over + 1)
		unseen += count - *over - 1;
	*over = count;
	if (end_ns == *seen_ns || late_ns > end_ns || tid > INT32_MAX ||
	    end_ns - late_ns < measuring->start_ns)
		return;
	*seen_ns = end_ns;
	measuring->record.tid = (int)tid;
	record_add(&measuring->record, end_ns - late_ns, end_ns);
}

static void poll_points(struct measuring *measuring)
{
	for (unsigned int i = 0; i < target.count; i++) {
		const struct points_page *page = &target.page[i];

		for (unsigned int j = 0; j < points_count(page); j++) {
			const struct rtscope_point *point = &page->memory->point[j];

			if (is_wanted(point))
				take(measuring, figures_of(point), &seen_end_ns[i][j],
				     &seen_over[i][j]);
		}
	}
}

void response_points_poll(struct measuring *measuring)
{
	measuring->record.cpu = CPU_UNKNOWN;
	while (measuring_goes_on(measuring, clock_now_ns()) &&
	       !measuring->record.threshold_reached) {
		bool alive = points_alive(&target);

		poll_points(measuring);
		if (!alive) {
			measuring->completed = true;
			break;
		}
		clock_sleep_until(clock_now_ns() + POLL_NS);
	}
	if (is_old)
		session_warn("old-points",
			     "the program was built with an older rtscope/points.h, which does not record when a late cycle ended: build it again");
	if (unseen)
		measuring_metric(measuring, "unseen", (double)unseen);
}
