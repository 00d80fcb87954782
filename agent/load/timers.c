// SPDX-License-Identifier: GPL-2.0-only
/*
 * timers: many timers of unlike periods that expire all the time, by timerfd,
 * by POSIX timers and by short sleeps: the timer queues and the timer
 * interrupt, which are what most measurements of latency wait for.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/worker.h"

#define TIMERFDS       32
#define POSIX_TIMERS   8
#define PERIOD_MIN_NS  (1000 * NSEC_PER_USEC)
#define PERIOD_SPAN_NS (4000 * NSEC_PER_USEC)
#define SLEEP_MIN_NS   (20 * NSEC_PER_USEC)
#define SLEEP_SPAN_NS  (80 * NSEC_PER_USEC)

struct timers_state {
	struct pollfd timer[TIMERFDS];
	sigset_t signals;
};

static struct itimerspec random_period(struct worker *worker)
{
	uint64_t period_ns = PERIOD_MIN_NS + worker_random_below(worker, PERIOD_SPAN_NS);
	struct timespec period = ns_to_timespec(period_ns);

	worker_fold(worker, period_ns);
	return (struct itimerspec){ .it_interval = period, .it_value = period };
}

static int start_posix_timer(struct worker *worker)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec period = random_period(worker);
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return -1;
	return timer_settime(timer, 0, &period, NULL);
}

static int setup(struct worker *worker)
{
	struct timers_state *state = worker_alloc(worker, sizeof(*state));

	if (!state)
		return -1;
	for (int i = 0; i < TIMERFDS; i++) {
		struct itimerspec period = random_period(worker);
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

		if (fd < 0 || timerfd_settime(fd, 0, &period, NULL) < 0)
			return worker_fail(worker, "cannot start a timerfd: %s", strerror(errno));
		state->timer[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	sigemptyset(&state->signals);
	sigaddset(&state->signals, SIGALRM);
	sigprocmask(SIG_BLOCK, &state->signals, NULL);
	for (int i = 0; i < POSIX_TIMERS; i++) {
		if (start_posix_timer(worker) == 0)
			continue;
		worker_warn(worker, "load-degraded", "it runs without POSIX timers: %s",
			    strerror(errno));
		break;
	}
	worker->state = state;
	return 0;
}

static uint64_t read_timerfds(struct timers_state *state)
{
	uint64_t expirations, sum = 0;

	if (poll(state->timer, TIMERFDS, -1) <= 0)
		return 0;
	for (int i = 0; i < TIMERFDS; i++) {
		if (state->timer[i].revents &&
		    read(state->timer[i].fd, &expirations, sizeof(expirations)) > 0)
			sum += expirations;
	}
	return sum;
}

/* Each timer queues its signal once, so as many as there are timers may wait. */
static uint64_t take_signals(const struct timers_state *state)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	uint64_t sum = 0;

	for (int i = 0; i < POSIX_TIMERS && sigtimedwait(&state->signals, &info, &now) > 0; i++)
		sum += 1 + (uint64_t)info.si_overrun;
	return sum;
}

static int step(struct worker *worker)
{
	struct timers_state *state = worker->state;
	struct timespec pause =
		ns_to_timespec(SLEEP_MIN_NS + worker_random_below(worker, SLEEP_SPAN_NS));
	uint64_t expirations = read_timerfds(state) + take_signals(state);

	expirations += clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == 0;
	worker_count(worker, 0, expirations);
	return 0;
}

const struct load load_timers = {
	.name = "timers",
	.help = "many timers that expire all the time: timerfd, POSIX, sleeps",
	.unit = { "expirations" },
	.setup = setup,
	.step = step,
};
