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

static void send(unsigned int count, uint64_t interrupt_ns)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rtevent_event event = { .interrupt_ns = interrupt_ns, .sequence = sent++ };

		assert_int_equal(write(device[1], &event, sizeof(event)), sizeof(event));
	}
	raise(SIGIO);
}

TEST(nothing_is_there_before_an_event, set_up, tear_down)
{
	assert_null(handler_first());
	raise(SIGIO);
	assert_null(handler_first());
}

TEST(an_event_tells_when_and_by_whom_it_was_taken, set_up, tear_down)
{
	uint64_t before_ns = clock_now_ns();
	const struct handled *handled;

	event_recipient = 7;
	send(1, 1);
	handled = handler_first();
	assert_non_null(handled);
	assert_in_range(handled->taken_ns, before_ns, clock_now_ns());
	assert_int_equal(handled->recipient, 7);
	assert_in_range(handled->cpu, 0, CPU_SETSIZE - 1);
	assert_false(handled->merged);
	handler_forget();
	assert_null(handler_first());
}

TEST(those_that_come_with_an_earlier_one_are_merged_and_in_order, set_up, tear_down)
{
	send(20, 1);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(handler_first()->event.sequence, i);
		assert_int_equal(handler_first()->merged, i > 0);
		handler_forget();
	}
	send(1, 1);
	assert_false(handler_first()->merged);
}

TEST(one_that_came_after_the_look_at_the_clock_is_taken_after_it_came, set_up, tear_down)
{
	const struct rtevent_event early = { .interrupt_ns = 100 }, late = { .interrupt_ns = 101 };
	uint64_t before_ns = clock_now_ns(), taken_ns = event_taken_ns(&late, 100);

	assert_int_equal(event_taken_ns(&early, 100), 100);
	assert_in_range(taken_ns, before_ns, clock_now_ns());
}

TEST(what_nobody_collects_is_lost_and_the_rest_stays_whole, set_up, tear_down)
{
	uint32_t kept = 0;

	for (unsigned int i = 0; i < MANY; i++)
		send(1, 1);
	for (; handler_first(); kept++) {
		assert_int_equal(handler_first()->event.sequence, kept);
		handler_forget();
	}
	assert_in_range(kept, 100, MANY - 1);
	send(1, 1);
	assert_int_equal(handler_first()->event.sequence, MANY);
}

static const struct rtevent_event staged = {
	.due_ns = 1000,
	.interrupt_ns = 1003,
	.thread_ns = 1020,
	.wake_ns = 1100,
};

TEST(the_stages_have_their_means_and_their_longest)
{
	struct measuring measuring = { 0 };
	struct stages stages = { 0 };

	stages_add(&stages, &staged, 1500);
	stages_add(&stages, &staged, 1700);
	stages_tell(&stages, &measuring);
	assert_true(fact(&measuring, "due_to_interrupt_max_ns") == 3);
	assert_true(fact(&measuring, "interrupt_to_thread_mean_ns") == 17);
	assert_true(fact(&measuring, "thread_to_wake_max_ns") == 80);
	assert_true(fact(&measuring, "wake_to_user_mean_ns") == 500);
	assert_true(fact(&measuring, "wake_to_user_max_ns") == 600);
}

TEST(an_event_that_no_thread_has_seen_has_no_stages_of_it)
{
	struct rtevent_event event = { .due_ns = 5, .interrupt_ns = 9 };
	struct measuring measuring = { 0 };
	struct stages stages = { 0 };

	stages_add(&stages, &event, 20);
	stages_tell(&stages, &measuring);
	assert_true(fact(&measuring, "due_to_interrupt_max_ns") == 4);
	assert_int_equal(measuring.fact_count, 1);
}

TEST(an_event_that_was_taken_before_its_stamp_violates_no_deadline)
{
	static struct measuring measuring;
	static struct recipients recipients = { .deadline_ns = 1000 };

	assert_int_equal(record_init(&measuring.record, 0, UINT64_MAX, false), 0);
	assert_true(recipients_note(&recipients, &measuring, 5000, 4990, 1, 0));
	assert_int_equal(recipients.violations, 0);
	assert_int_equal(measuring.record.early, 1);
	assert_true(recipients_note(&recipients, &measuring, 5000, 6001, 1, 0));
	assert_int_equal(recipients.violations, 1);
}

TEST(an_event_of_the_wait_for_the_lease_counts_as_taken_alone)
{
	static struct measuring measuring;
	static struct recipients recipients = { .deadline_ns = 1000 };

	assert_int_equal(record_init(&measuring.record, 0, UINT64_MAX, false), 0);
	measuring.record.resumed_ns = 9000;
	assert_false(recipients_note(&recipients, &measuring, 5000, 9001, 1, 0));
	assert_int_equal(recipients.violations, 0);
	assert_int_equal(recipients.noted, 1);
	assert_int_equal(measuring.record.count, 0);
}

UNIT_TESTS(NULL, NULL)
