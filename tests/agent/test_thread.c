// SPDX-License-Identifier: GPL-2.0-only
/* Threads with hostile names, and who comes before whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

TEST(all_of_a_thread_is_read_whatever_its_name)
{
	static const char *const names[] = {
		"",	    ")",	 ")(",		"a) R 1 (",  "a) R 1 2 3 0 -1",
		"(((",	    ") S 1 1 1", "\n",		"a\nb) S 1", "\x1b[2J",
		"\xff\xfe", "a b",	 "irq/24-x) I", " ",	     ") "
	};
	char name[200] = "";

	foreach (each, names) {
		struct thread thread = parsed(*each, 4194560, -91, 0, 90, 2);

		assert_string_equal(thread.name, *each);
		assert_printed("41 42 S 0, ticks 100 23 1500, CPU 3, rr 90, rank -91 1 0",
			       "%d %d %c %d, ticks %lu %lu %lu, CPU %d, %s %d, rank %d %d %d",
			       thread.pid, thread.tid, thread.state, thread.kernel, thread.ticks,
			       thread.child_ticks, thread.start_ticks, thread.cpu,
			       thread_policy_name(&thread), thread.priority, thread.rank,
			       thread_is_realtime(&thread), thread.inherited);
	}
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(strlen(user(name).name), THREAD_NAME_SIZE - 1);
}

static void assert_refused(const char *begin, size_t length)
{
	struct thread thread = { 0 };
	char text[128];

	snprintf(text, sizeof(text), "%.*s", (int)length, begin);
	assert_false(thread_parse_stat(text, &thread));
}

TEST(a_text_that_describes_no_thread_is_refused)
{
	static const char begun[] = "42 (a) S 1 2 3",
			  bad[] = "42 (a) S 1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";

	for (size_t length = 0; length < sizeof(begun); length++)
		assert_refused(begun, length);
	assert_refused(bad, sizeof(bad));
	assert_refused("42 )(", 5);
	assert_refused("42 (a)S 1 2", 11);
}

TEST(threads_of_interrupts_go_by_the_kernels_own_names)
{
	static const struct {
		const char *name;
		int irq;
		const char *softirq;
	} threads[] = {
		{ "irq/24-ACPI:Ged", 24, NULL },
		{ "irq/9-s-acpi", 9, NULL },
		{ "irq/-x", -1, NULL },
		{ "irq_work/0", -1, NULL },
		{ "irq/99999999999999999999-x", -1, NULL },
		{ "ksoftirqd/3", -1, "all" },
		{ "ktimers/0", -1, "timers" },
		{ "rcuc/0", -1, "rcu" },
		{ "napi/eth0-8193", -1, "network" },
		{ "kthreadd", -1, NULL },
	};

	foreach (each, threads) {
		struct thread own = parsed(each->name, KERNEL_THREAD, -51, 0, 50, 1);
		struct thread other = user(each->name);
		const char *softirq = thread_softirq(&own);

		assert_true(own.kernel);
		assert_int_equal(thread_irq(&own), each->irq);
		assert_string_equal(softirq ?: "", each->softirq ?: "");
		assert_int_equal(thread_irq(&other), -1);
		assert_null(thread_softirq(&other));
	}
}

TEST(an_inherited_priority_is_the_one_that_counts)
{
	struct thread other = parsed("a", 0, -51, 5, 0, 0), fifo = parsed("a", 0, -91, 0, 50, 1);
	struct thread deadline = parsed("a", 0, -101, 0, 0, 6);

	assert_printed("-51 1 1, -91 1 1, -101 0 1", "%d %d %d, %d %d %d, %d %d %d", other.rank,
		       other.inherited, thread_is_realtime(&other), fifo.rank, fifo.inherited,
		       thread_is_realtime(&fifo), deadline.rank, deadline.inherited,
		       thread_is_realtime(&deadline));
}

/* Each can preempt those after it. */
TEST(who_can_preempt_whom_comes_first)
{
	struct thread threads[14], expected[] = {
		parsed("migration/1", KERNEL_THREAD, -100, 0, 99, 1),
		parsed("soon", 0, -101, 0, 0, 6),
		parsed("later", 0, -101, 0, 0, 6),
		parsed("migration/1", 0, -100, 0, 99, 1),
		parsed("rr", 0, -96, 0, 95, 2),
		parsed("lent 90", 0, -91, 0, 0, 0),
		parsed("irq/1-x", KERNEL_THREAD, -51, 0, 50, 1),
		parsed("least", 0, -2, 0, 1, 1),
		parsed("kworker/0:0H", KERNEL_THREAD, 0, -20, 0, 0),
		parsed("batch", 0, 20, 0, 0, 3),
		parsed("batch, 2nd thread", 0, 20, 0, 0, 3),
		parsed("batch, 2nd process", 0, 20, 0, 0, 3),
		parsed("idle", 0, 20, 0, 0, 5),
		parsed("ext", 0, 20, 0, 0, 7),
	};
	const size_t count = COUNT(expected);

	expected[9].tid = 41;
	expected[11].pid = 50;
	expected[1].given.deadline_ns = 1000000;
	expected[2].given.deadline_ns = 2000000;
	for (size_t i = 0; i < count; i++)
		threads[i] = expected[(5 * i + 3) % count];
	qsort(threads, count, sizeof(threads[0]), thread_order);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(threads[i].name, expected[i].name);
	assert_true(threads[0].kernel);
	assert_false(threads[3].kernel);
}

TEST(policies_have_the_kernels_numbers_and_one_to_come_has_no_name)
{
	static const unsigned int to_come[] = { 4, 4000000000u };

	assert_int_equal(policy_number_of("other"), SCHED_OTHER);
	assert_int_equal(policy_number_of("deadline"), 6);
	assert_int_equal(policy_number_of("ext"), 7);
	assert_int_equal(policy_number_of("fast"), -1);
	for (unsigned int number = 0; number < 100; number++) {
		if (policy_name_of(number))
			assert_int_equal(policy_number_of(policy_name_of(number)), number);
	}
	foreach (policy, to_come) {
		struct thread thread = parsed("a", 0, 20, 0, 0, *policy);

		assert_null(thread_policy_name(&thread));
	}
}

UNIT_TESTS(NULL, NULL)
