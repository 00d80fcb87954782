// SPDX-License-Identifier: GPL-2.0-only
/* A pipe stands for the device: it gives whole events too, and to one reader each. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include "base/clock.h"
#include "no_session.h"
#include "probe/event_handler.h"
#include "probe/event_methods.h"
#include "probe/event_stages.h"
#include "probe/recipients.h"
#include "unit.h"

#define MANY 3000

static int device[2];
static uint32_t sent;

static int set_up(void **state)
{
	(void)state;
	if (pipe2(device, O_NONBLOCK | O_CLOEXEC))
		return -1;
	handler_install(device[0]);
	sent = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (handler_first())
		handler_forget();
	return close(device[0]) | close(device[1]);
}

static void send(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rtevent_event event = { .interrupt_ns = 1, .sequence = sent++ };

		assert_int_equal(write(device[1], &event, sizeof(event)), sizeof(event));
	}
	raise(SIGIO);
}

TEST(an_event_has_its_time_cpu_and_recipient_and_those_after_it_are_merged, set_up, tear_down)
{
	uint64_t before_ns = clock_now_ns();
	const struct handled *handled;

	raise(SIGIO);
	assert_null(handler_first());
	event_recipient = 7;
	send(20);
	for (uint32_t i = 0; i < 20; i++) {
		handled = handler_first();
		assert_non_null(handled);
		assert_in_range(handled->taken_ns, before_ns, clock_now_ns());
		assert_int_equal(handled->recipient, 7);
		assert_in_range(handled->cpu, 0, CPU_SETSIZE - 1);
		assert_int_equal(handled->event.sequence, i);
		assert_int_equal(handled->merged, i > 0);
		handler_forget();
	}
	assert_null(handler_first());
	send(1);
	assert_false(handler_first()->merged);
}

TEST(an_event_after_the_clock_was_read_is_taken_after_it_came, set_up, tear_down)
{
	const struct rtevent_event early = { .interrupt_ns = 100 }, late = { .interrupt_ns = 101 };
	uint64_t before_ns = clock_now_ns(), taken_ns = event_taken_ns(&late, 100);

	assert_int_equal(event_taken_ns(&early, 100), 100);
	assert_in_range(taken_ns, before_ns, clock_now_ns());
}

TEST(events_beyond_the_ring_are_lost_and_the_rest_stays_whole, set_up, tear_down)
{
	uint32_t kept = 0;

	for (unsigned int i = 0; i < MANY; i++)
		send(1);
	for (; handler_first(); kept++) {
		assert_int_equal(handler_first()->event.sequence, kept);
		handler_forget();
	}
	assert_in_range(kept, 100, MANY - 1);
	send(1);
	assert_int_equal(handler_first()->event.sequence, MANY);
}

TEST(stages_have_their_mean_and_maximum_where_a_thread_has_seen_the_event)
{
	const struct rtevent_event unseen = { .due_ns = 5, .interrupt_ns = 9 },
				   seen = { 1000, 1003, .thread_ns = 1020, .wake_ns = 1100 };
	struct measuring one = { 0 }, both = { 0 };
	struct stages stages = { 0 };

	stages_add(&stages, &unseen, 20);
	stages_report(&stages, &one);
	assert_true(metric(&one, "due_to_interrupt_max_ns") == 4);
	assert_int_equal(one.metric_count, 1);
	stages = (struct stages){ 0 };
	stages_add(&stages, &seen, 1500);
	stages_add(&stages, &seen, 1700);
	stages_report(&stages, &both);
	assert_printed("3 17 80 500 600", "%g %g %g %g %g",
		       metric(&both, "due_to_interrupt_max_ns"),
		       metric(&both, "interrupt_to_thread_mean_ns"),
		       metric(&both, "thread_to_wake_max_ns"),
		       metric(&both, "wake_to_user_mean_ns"), metric(&both, "wake_to_user_max_ns"));
}

TEST(a_deadline_is_violated_by_late_events_not_by_early_ones_nor_by_the_wait_for_the_lease)
{
	static struct measuring measuring;
	static struct recipients recipients = { .deadline_ns = 1000 };

	assert_int_equal(record_init(&measuring.record, 0, UINT64_MAX, false), 0);
	assert_true(recipients_note(&recipients, &measuring, 5000, 4990, 1, 0));
	assert_int_equal(recipients.violations, 0);
	assert_int_equal(measuring.record.early, 1);
	assert_true(recipients_note(&recipients, &measuring, 5000, 6001, 1, 0));
	assert_int_equal(recipients.violations, 1);
	measuring.record.resumed_ns = 9000;
	assert_false(recipients_note(&recipients, &measuring, 5000, 9001, 1, 0));
	assert_int_equal(recipients.violations, 1);
	assert_int_equal(recipients.noted, 3);
	assert_int_equal(measuring.record.count, 2);
}

UNIT_TESTS(NULL, NULL)
