// SPDX-License-Identifier: GPL-2.0-only
/* The sleeps of a periodic loop. */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/period.h"

const char *const method_names[METHODS] = {
	"relative",
	"compensated",
	"absolute",
	"timerfd",
};

int period_open(struct period *period, enum method method, uint64_t interval_ns)
{
	*period = (struct period){ .method = method, .timer = -1, .interval_ns = interval_ns };
	if (method != TIMERFD)
		return 0;
	period->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return period->timer < 0 ? errno : 0;
}

void period_close(struct period *period)
{
	if (period->timer >= 0)
		close(period->timer);
}

int period_begin(struct period *period, uint64_t due_ns)
{
	struct itimerspec every = {
		.it_value = ns_to_timespec(due_ns + period->interval_ns),
		.it_interval = ns_to_timespec(period->interval_ns),
	};

	period->due_ns = due_ns;
	if (period->timer >= 0 && timerfd_settime(period->timer, TFD_TIMER_ABSTIME, &every, NULL))
		return errno;
	return 0;
}

uint64_t period_next_ns(const struct period *period)
{
	if (period->method == RELATIVE)
		return clock_now_ns() + period->interval_ns;
	if (period->method == COMPENSATED)
		return period->woke_ns + period->interval_ns;
	return period->due_ns + period->interval_ns;
}

static int sleep_for(uint64_t ns)
{
	struct timespec time = ns_to_timespec(ns);

	return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static int sleep_by_timer(struct period *period)
{
	uint64_t expirations;

	if (read(period->timer, &expirations, sizeof(expirations)) != sizeof(expirations))
		return errno;
	period->due_ns += expirations * period->interval_ns;
	period->missed += expirations - 1;
	return 0;
}

int period_sleep(struct period *period)
{
	uint64_t next_ns = period_next_ns(period), now_ns;

	switch (period->method) {
	case RELATIVE:
		return sleep_for(period->interval_ns);
	case COMPENSATED:
		now_ns = clock_now_ns();
		return now_ns < next_ns ? sleep_for(next_ns - now_ns) : 0;
	case ABSOLUTE:
		period->due_ns = next_ns;
		return clock_sleep_until(next_ns);
	default:
		return sleep_by_timer(period);
	}
}
