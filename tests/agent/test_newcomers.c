// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "system/newcomers.h"

#define NEWS_LIMIT_NS (5 * NSEC_PER_SEC)

static struct newcomers from;
static struct news news;

static bool told(int tid)
{
	for (unsigned int i = 0; i < news.count; i++) {
		if (news.tid[i] == tid)
			return true;
	}
	return false;
}

/* Whether @tid is told of, of all threads of this machine that are. */
static bool is_told(int tid)
{
	const uint64_t limit_ns = clock_now_ns() + NEWS_LIMIT_NS;
	struct pollfd ready = { .fd = from.fd[NEWCOMERS_PROCESSES], .events = POLLIN };
	bool found = false;

	while (!found && clock_now_ns() < limit_ns) {
		poll(&ready, 1, 100);
		newcomers_read(&from, &news);
		found = told(tid);
		news = (struct news){ 0 };
	}
	return found;
}

static int start(void **state)
{
	char error[512];

	(void)state;
	if (geteuid())
		return 0;
	if (newcomers_open(&from, NEWCOMERS_ALL_THREADS, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return -1;
	}
	return 0;
}

static int stop(void **state)
{
	(void)state;
	newcomers_close(&from);
	news = (struct news){ 0 };
	return 0;
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

/* A child that takes another name for each byte in its pipe, and ends with that. */
static pid_t begin_child(int *order)
{
	int pipes[2];
	pid_t child;
	char what;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child) {
		close(pipes[0]);
		*order = pipes[1];
		return child;
	}
	close(pipes[1]);
	while (read(pipes[0], &what, 1) == 1)
		prctl(PR_SET_NAME, "newcomer");
	_exit(0);
}

static void test_a_thread_that_begins_or_has_another_name_is_told(void **state)
{
	int order;
	pid_t child;

	(void)state;
	need_root();
	child = begin_child(&order);
	assert_true(is_told(child));
	assert_int_equal(write(order, "n", 1), 1);
	assert_true(is_told(child));
	close(order);
	waitpid(child, NULL, 0);
}

static void test_one_that_ends_is_not(void **state)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	int order;
	pid_t child;

	(void)state;
	need_root();
	child = begin_child(&order);
	assert_true(is_told(child));
	close(order);
	waitpid(child, NULL, 0);
	nanosleep(&moment, NULL);
	newcomers_read(&from, &news);
	assert_false(told(child));
}

static void test_of_the_kernels_own_threads_alone_others_are_not_told(void **state)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	char error[512];
	int order;
	pid_t child;

	(void)state;
	need_root();
	newcomers_close(&from);
	assert_int_equal(newcomers_open(&from, NEWCOMERS_KERNEL_THREADS, error, sizeof(error)), 0);
	child = begin_child(&order);
	nanosleep(&moment, NULL);
	newcomers_read(&from, &news);
	assert_false(told(child));
	close(order);
	waitpid(child, NULL, 0);
}

static void test_more_than_can_be_kept_are_everything(void **state)
{
	(void)state;
	need_root();
	newcomers_read(&from, &news);
	news = (struct news){ 0 };
	for (int i = 0; i <= NEWCOMERS_MAX; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	newcomers_read(&from, &news);
	assert_int_equal(news.count, NEWCOMERS_MAX);
	assert_true(news.everything);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_thread_that_begins_or_has_another_name_is_told,
						start, stop),
		cmocka_unit_test_setup_teardown(test_one_that_ends_is_not, start, stop),
		cmocka_unit_test_setup_teardown(test_of_the_kernels_own_threads_alone_others_are_not_told,
						start, stop),
		cmocka_unit_test_setup_teardown(test_more_than_can_be_kept_are_everything, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
