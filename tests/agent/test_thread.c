// SPDX-License-Identifier: GPL-2.0-only
/* Threads with hostile names, and who comes before whom. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/policies.h"
#include "proc/thread.h"
#include "unit.h"

#define KERNEL_THREAD 2129984u

/* As the kernel writes /proc/PID/stat of a thread; @now: the priority that it goes by. */
static struct thread parsed(const char *name, unsigned int flags, int now, int nice, int priority,
			    unsigned int policy)
{
	struct thread thread = { .pid = 41 };
	char text[1024];

	snprintf(text, sizeof(text),
		 "42 (%s) S 1 2 3 0 -1 %u 5 6 7 8 90 10 11 12 %d %d 13 0 1500 2048 9 "
		 "18446744073709551615 1 1 0 0 0 0 0 4096 1088 0 0 0 17 3 %d %u 0 0 0 0 0\n",
		 name, flags, now, nice, priority, policy);
	assert_true(thread_parse_stat(text, &thread));
	return thread;
}

static struct thread user(const char *name)
{
	return parsed(name, 4194560, 20, 0, 0, 0);
}

static struct thread kernel(const char *name)
{
	return parsed(name, KERNEL_THREAD, -51, 0, 50, 1);
}

TEST(what_the_kernel_tells_is_read)
{
	struct thread thread = parsed("llrf", 4194560, -91, 0, 90, 2);

	assert_int_equal(thread.pid, 41);
	assert_int_equal(thread.tid, 42);
	assert_int_equal(thread.state, 'S');
	assert_false(thread.kernel);
	assert_true(kernel("kthreadd").kernel);
	assert_int_equal(thread.ticks, 100);
	assert_int_equal(thread.child_ticks, 23);
	assert_int_equal(thread.start_ticks, 1500);
	assert_int_equal(thread.cpu, 3);
	assert_int_equal(thread.priority, 90);
	assert_string_equal(thread_policy_name(&thread), "rr");
	assert_true(thread_is_realtime(&thread));
	assert_int_equal(thread.rank, -91);
	assert_false(thread.inherited);
}

TEST(a_name_may_be_anything)
{
	static const char *const names[] = {
		"",	    ")",	 ")(",		"a) R 1 (",  "a) R 1 2 3 0 -1",
		"(((",	    ") S 1 1 1", "\n",		"a\nb) S 1", "\x1b[2J",
		"\xff\xfe", "a b",	 "irq/24-x) I", " ",	     ") ",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct thread thread = user(names[i]);

		assert_string_equal(thread.name, names[i]);
		assert_int_equal(thread.state, 'S');
		assert_int_equal(thread.cpu, 3);
	}
}

TEST(a_name_that_is_too_long_is_cut)
{
	char name[200];
	struct thread thread;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	thread = user(name);
	assert_int_equal(strlen(thread.name), THREAD_NAME_SIZE - 1);
}

TEST(what_is_no_thread_is_refused)
{
	static const char *const texts[] = {
		"",
		"42",
		"42 (a",
		"42 a)",
		"42 )(",
		"42 (a)",
		"42 (a) ",
		"42 (a) S",
		"42 (a)S 1 2",
		"42 (a) S 1 2 3",
		"42 (a) S 1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct thread thread = { 0 };
		char text[128];

		snprintf(text, sizeof(text), "%s", texts[i]);
		assert_false(thread_parse_stat(text, &thread));
	}
}

TEST(an_interrupts_number_is_in_the_kernels_own_names_alone)
{
	struct thread named = user("irq/24-x");

	assert_int_equal(thread_irq(&named), -1);
	named = kernel("irq/24-ACPI:Ged");
	assert_int_equal(thread_irq(&named), 24);
	named = kernel("irq/9-s-acpi");
	assert_int_equal(thread_irq(&named), 9);
	named = kernel("irq/-x");
	assert_int_equal(thread_irq(&named), -1);
	named = kernel("irq_work/0");
	assert_int_equal(thread_irq(&named), -1);
	named = kernel("irq/99999999999999999999-x");
	assert_int_equal(thread_irq(&named), -1);
}

TEST(soft_interrupts_have_their_threads)
{
	struct thread named = kernel("ksoftirqd/3");

	assert_string_equal(thread_softirq(&named), "all");
	named = kernel("ktimers/0");
	assert_string_equal(thread_softirq(&named), "timers");
	named = kernel("rcuc/0");
	assert_string_equal(thread_softirq(&named), "rcu");
	named = kernel("napi/eth0-8193");
	assert_string_equal(thread_softirq(&named), "network");
	named = user("ksoftirqd/3");
	assert_null(thread_softirq(&named));
	named = kernel("kthreadd");
	assert_null(thread_softirq(&named));
}

TEST(an_inherited_priority_is_the_one_that_counts)
{
	struct thread other = parsed("a", 0, -51, 5, 0, 0), fifo = parsed("a", 0, -91, 0, 50, 1);
	struct thread deadline = parsed("a", 0, -101, 0, 0, 6);

	assert_true(other.inherited);
	assert_int_equal(other.rank, -51);
	assert_true(thread_is_realtime(&other));
	assert_true(fifo.inherited);
	assert_int_equal(fifo.rank, -91);
	assert_false(deadline.inherited);
	assert_int_equal(deadline.rank, RANK_DEADLINE);
}

/* Each can preempt those after it. */
TEST(who_can_preempt_whom_comes_first)
{
	struct thread threads[12], expected[12];
	size_t count = 0;

	expected[count++] = parsed("migration/1", KERNEL_THREAD, -100, 0, 99, 1);
	expected[count] = parsed("soon", 0, -101, 0, 0, 6);
	expected[count++].given.deadline_ns = 1000000;
	expected[count] = parsed("later", 0, -101, 0, 0, 6);
	expected[count++].given.deadline_ns = 2000000;
	expected[count++] = parsed("migration/1", 0, -100, 0, 99, 1);
	expected[count++] = parsed("rr", 0, -96, 0, 95, 2);
	expected[count++] = parsed("lent 90", 0, -91, 0, 0, 0);
	expected[count++] = parsed("irq/1-x", KERNEL_THREAD, -51, 0, 50, 1);
	expected[count++] = parsed("least", 0, -2, 0, 1, 1);
	expected[count++] = parsed("kworker/0:0H", KERNEL_THREAD, 0, -20, 0, 0);
	expected[count++] = parsed("batch", 0, 20, 0, 0, 3);
	expected[count++] = parsed("idle", 0, 20, 0, 0, 5);
	expected[count++] = parsed("ext", 0, 20, 0, 0, 7);
	for (size_t i = 0; i < count; i++)
		threads[i] = expected[(5 * i + 7) % count];
	qsort(threads, count, sizeof(threads[0]), thread_order);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(threads[i].name, expected[i].name);
	assert_true(threads[0].kernel);
	assert_false(threads[3].kernel);
}

TEST(threads_of_one_rank_are_in_the_order_of_their_numbers)
{
	struct thread first = user("b"), second = user("a"), third = user("c");

	first.pid = 5;
	first.tid = 50;
	second.pid = 41;
	second.tid = 41;
	assert_true(thread_order(&first, &second) < 0);
	assert_true(thread_order(&second, &third) < 0);
	assert_true(thread_order(&third, &first) > 0);
	assert_int_equal(thread_order(&third, &third), 0);
}

TEST(a_policy_to_come_has_no_name)
{
	struct thread thread = parsed("a", 0, 20, 0, 0, 4);

	assert_null(thread_policy_name(&thread));
	thread = parsed("a", 0, 20, 0, 0, 4000000000u);
	assert_null(thread_policy_name(&thread));
}

TEST(this_thread_is_read_and_one_that_has_ended_is_not)
{
	struct thread thread;

	assert_true(thread_read(getpid(), &thread));
	assert_int_equal(thread.tid, getpid());
	assert_int_equal(thread.parent, getppid());
	assert_int_equal(thread.state, 'R');
	assert_false(thread_read(INT_MAX, &thread));
}

TEST(policies_have_the_kernels_numbers)
{
	assert_int_equal(policy_number_of("other"), SCHED_OTHER);
	assert_int_equal(policy_number_of("deadline"), 6);
	assert_int_equal(policy_number_of("ext"), 7);
	assert_int_equal(policy_number_of("fast"), -1);
	for (unsigned int number = 0; number < 100; number++) {
		if (policy_name_of(number))
			assert_int_equal(policy_number_of(policy_name_of(number)), number);
	}
}

UNIT_TESTS(NULL, NULL)
