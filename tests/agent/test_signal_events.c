// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include "base/clock.h"
#include "no_session.h"
#include "probe/signal_events.h"
#include "unit.h"

static struct control control;
static struct session_options session;
static struct events events;
static struct measuring measuring;

static int set_up(void **state)
{
	(void)state;
	measuring = (struct measuring){ .control = &control, .options = &session };
	memset(&events, 0, sizeof(events));
	if (record_init(&measuring.record, 10, UINT64_MAX, false))
		return -1;
	events_open(&events, SIGRTMIN, NSEC_PER_MSEC);
	events_handle(&events);
	event_recipient = 1;
	return 0;
}

TEST(signals_that_wait_together_are_not_merged_and_those_never_taken_are_lost, set_up)
{
	events_mask(&events, SIG_BLOCK);
	for (unsigned int i = 0; i < 100; i++)
		events_send(&events);
	events_mask(&events, SIG_UNBLOCK);
	events_collect(&events, &measuring);
	events_mask(&events, SIG_BLOCK);
	events_send(&events);
	events_send(&events);
	events_collect(&events, &measuring);
	events_report(&events, &measuring, RECIPIENTS_MAX - 1);
	events_mask(&events, SIG_UNBLOCK);
	assert_int_equal(measuring.record.count, 100);
	assert_true(metric(&measuring, "lost") == 2);
}

TEST(recipients_are_counted_and_a_worst_event_has_its_recipients_cpu, set_up)
{
	cpu_set_t before;
	int cpu = move_to_last_cpu(&before);

	measuring.record.cpu = CPU_SETSIZE; /* of the thread that keeps the record */
	for (unsigned int i = 0; i < 7; i++) {
		event_recipient = i % 4;
		events_send(&events);
	}
	sched_setaffinity(0, sizeof(before), &before);
	events_collect(&events, &measuring);
	events_report(&events, &measuring, 3);
	assert_true(metric(&measuring, "threads_that_took") == 4);
	assert_true(metric(&measuring, "taken_by_own_thread") == 1);
	assert_true(metric(&measuring, "taken_by_others") == 6);
	assert_true(metric(&measuring, "jitter_ns") ==
		    (double)(measuring.record.max_ns - measuring.record.min_ns));
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(measuring.record.worst[i].cpu, cpu);
}

TEST(the_slots_are_used_again_and_never_overrun, set_up)
{
	for (unsigned int i = 0; i < EVENT_SLOTS; i++) {
		assert_true(events_have_room(&events));
		events_send(&events);
	}
	assert_false(events_have_room(&events));
	events_collect(&events, &measuring);
	for (unsigned int i = 0; i < EVENT_SLOTS; i++) {
		assert_true(events_have_room(&events));
		events_send(&events);
		events_collect(&events, &measuring);
	}
	assert_int_equal(measuring.record.count, 2 * EVENT_SLOTS);
}

UNIT_TESTS(NULL, NULL)
