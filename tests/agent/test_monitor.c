// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/monitor.h"
#include "unit.h"

#define NEWS_LIMIT_NS (5 * NSEC_PER_SEC)

/* The kernel's PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static struct monitor from;
static struct monitor_events news;
static bool lacking;

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
	struct pollfd ready = { .fd = from.fd[MONITOR_PROCESSES], .events = POLLIN };
	bool found = false;

	while (!found && clock_now_ns() < limit_ns) {
		poll(&ready, 1, 100);
		monitor_read(&from, &news);
		found = told(tid);
		news = (struct monitor_events){ 0 };
	}
	return found;
}

static bool has_process_events(void)
{
	FILE *list = fopen("/proc/net/connector", "r");
	char line[128];
	bool found = false;

	if (!list)
		return false;
	while (!found && fgets(line, sizeof(line), list))
		found = !strncmp(line, "cn_proc", strlen("cn_proc"));
	fclose(list);
	return found;
}

/*
 * The kernel sends these events to the first PID namespace alone, in the first network namespace,
 * to a process with CAP_NET_ADMIN, and where it was built with them.
 */
static bool is_possible_here(int error)
{
	char space[64] = "";
	ssize_t size = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	if (error != ENOMSG)
		return error != EPERM && error != ECONNREFUSED && error != EPROTONOSUPPORT;
	return size > 0 && !strcmp(space, FIRST_PID_NAMESPACE) && has_process_events();
}

static int start(void **state)
{
	char error[512];
	int number;

	(void)state;
	lacking = false;
	if (!monitor_open(&from, MONITOR_ALL_THREADS, error, sizeof(error)))
		return 0;
	number = errno;
	fprintf(stderr, "%s\n", error);
	lacking = !is_possible_here(number);
	return lacking ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	monitor_close(&from);
	news = (struct monitor_events){ 0 };
	return 0;
}

static void need_events(void)
{
	if (lacking)
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

TEST(a_thread_that_begins_or_has_another_name_is_told, start, stop)
{
	int order;
	pid_t child;

	need_events();
	child = begin_child(&order);
	assert_true(is_told(child));
	assert_int_equal(write(order, "n", 1), 1);
	assert_true(is_told(child));
	close(order);
	waitpid(child, NULL, 0);
}

TEST(one_that_ends_is_not, start, stop)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	int order;
	pid_t child;

	need_events();
	child = begin_child(&order);
	assert_true(is_told(child));
	close(order);
	waitpid(child, NULL, 0);
	nanosleep(&moment, NULL);
	monitor_read(&from, &news);
	assert_false(told(child));
}

TEST(of_the_kernels_own_threads_alone_others_are_not_told, start, stop)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	char error[512];
	int order;
	pid_t child;

	need_events();
	monitor_close(&from);
	assert_int_equal(monitor_open(&from, MONITOR_KERNEL_THREADS, error, sizeof(error)), 0);
	child = begin_child(&order);
	nanosleep(&moment, NULL);
	monitor_read(&from, &news);
	assert_false(told(child));
	close(order);
	waitpid(child, NULL, 0);
}

TEST(more_than_can_be_kept_are_everything, start, stop)
{
	need_events();
	monitor_read(&from, &news);
	news = (struct monitor_events){ 0 };
	for (int i = 0; i <= MONITOR_THREADS_MAX; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	monitor_read(&from, &news);
	assert_true(news.everything);
}

UNIT_TESTS(NULL, NULL)
