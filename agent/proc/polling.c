// SPDX-License-Identifier: GPL-2.0-only
#include "proc/polling.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_NS (200 * NSEC_PER_MSEC)

static sigset_t ending;

void polling_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, NULL);
}

/* Return whether the output still has a reader. */
static bool wanted(const struct json *json)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return !json->failed && !ferror(stdout) &&
	       (poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP | POLLNVAL)));
}

bool polling_wait(const struct json *json, uint64_t interval_ns)
{
	const struct timespec tick = ns_to_timespec(interval_ns < TICK_NS ? interval_ns : TICK_NS);
	int number = sigtimedwait(&ending, NULL, &tick);

	return number != SIGINT && number != SIGTERM && number != SIGHUP && wanted(json);
}

void polling_end(struct json *json, const char *status, uint64_t time_ns)
{
	json_begin(json, "end");
	json_string(json, "status", status);
	json_u64(json, "time_ns", time_ns);
	json_end(json);
}
