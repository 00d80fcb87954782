// SPDX-License-Identifier: GPL-2.0-only
/*
 * If a network fails, no end of file arrives, and writing fails only after many
 * minutes. So the program that started the agent sends a byte now and then, and
 * when none arrives any more the agent is interrupted as by Ctrl-C. A process of
 * its own reads the bytes: it works for every verb, adds no thread to a
 * measuring process, and can kill an agent that does not end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "session/watchdog_connection.h"

#define SILENCE_MIN_NS (100 * NSEC_PER_MSEC)
#define PATIENCE_NS    (15 * NSEC_PER_SEC)

static const int forwarded[] = { SIGCHLD, SIGHUP, SIGINT, SIGTERM };

#define FORWARDED_COUNT (sizeof(forwarded) / sizeof(forwarded[0]))

static volatile sig_atomic_t received;

static void on_signal(int number)
{
	if (number != SIGCHLD)
		received = number;
}

/* They are delivered only while this process waits in ppoll(). */
static void forward_signals(sigset_t *before)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < FORWARDED_COUNT; i++) {
		sigaddset(&blocked, forwarded[i]);
		sigaction(forwarded[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, before);
}

/* The child ends with its parent and does not read its standard input. */
static int become_child(pid_t parent, const sigset_t *mask)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return -1;
	if (null != STDIN_FILENO)
		close(null);
	for (size_t i = 0; i < FORWARDED_COUNT; i++)
		signal(forwarded[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	return getppid() == parent ? 0 : -1;
}

static bool has_ended(pid_t child, int *status)
{
	return waitpid(child, status, WNOHANG) != 0;
}

/* Wait for @fd, a signal or @until_ns. Returns what ppoll() returns. */
static int wait_until(int fd, uint64_t until_ns, const sigset_t *mask)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = clock_now_ns();
	struct timespec left = ns_to_timespec(until_ns > now_ns ? until_ns - now_ns : 0);

	return ppoll(&in, 1, &left, mask);
}

/* Supervise the child until it has ended or the other end is gone. */
static void supervise(pid_t child, uint64_t silence_ns, const sigset_t *mask, int *status)
{
	uint64_t until_ns = clock_now_ns() + silence_ns;
	char bytes[64];

	while (!has_ended(child, status)) {
		int ready = wait_until(STDIN_FILENO, until_ns, mask);

		if (ready < 0 && received)
			kill(child, received);
		received = 0;
		if (ready < 0)
			continue;
		if (!ready || read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0)
			break;
		until_ns = clock_now_ns() + silence_ns;
	}
}

/* Interrupt the child, and kill it if it has not ended after PATIENCE_NS. */
static void end_child(pid_t child, const sigset_t *mask, int *status)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;

	kill(child, SIGINT);
	while (!has_ended(child, status)) {
		if (!wait_until(-1, until_ns, mask)) {
			kill(child, SIGKILL);
			waitpid(child, status, 0);
			return;
		}
	}
}

int watchdog_connection_main(const char *silence, int (*run)(int argc, char **argv), int argc,
			     char **argv)
{
	pid_t parent = getpid(), child;
	uint64_t silence_ns;
	sigset_t mask;
	int status = -1;

	if (!option_time(silence, NSEC_PER_SEC, &silence_ns) || silence_ns < SILENCE_MIN_NS) {
		fprintf(stderr, "rtscope-agent: --tether '%s' is not a time from 100ms\n", silence);
		return 2;
	}
	forward_signals(&mask);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "rtscope-agent: cannot start a process: %s\n", strerror(errno));
		return 1;
	}
	if (!child)
		return become_child(parent, &mask) ? 1 : run(argc, argv);

	supervise(child, silence_ns, &mask, &status);
	if (status == -1)
		end_child(child, &mask, &status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
