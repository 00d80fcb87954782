// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/signals.h"
#include "session/threads.h"

#define POLL_NS	    (50 * NSEC_PER_MSEC)
#define PATIENCE_NS NSEC_PER_SEC

static sigset_t waited;

void session_block_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&waited);
	sigaddset(&waited, SIGINT);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGHUP);
	sigaddset(&waited, SIGNAL_DONE);
	pthread_sigmask(SIG_BLOCK, &waited, NULL);
}

/*
 * By system call: after a handler of the probe's own musl's sigtimedwait() waits
 * the whole time anew, for ever where handlers run often.
 */
int session_wait_for_signal(const struct timespec *timeout)
{
	return (int)syscall(SYS_rt_sigtimedwait, &waited, NULL, timeout, _NSIG / 8);
}

bool session_is_ended_by(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* A signal ends the wait if it has lasted for PATIENCE_NS: nothing is measured any more. */
bool session_wait_for_reader(bool (*written)(uint64_t until_ns))
{
	static const struct timespec at_once;
	uint64_t patient_until_ns = clock_now_ns() + PATIENCE_NS;
	bool asked = false;

	while (!written(clock_now_ns() + POLL_NS)) {
		asked |= session_is_ended_by(session_wait_for_signal(&at_once));
		if (asked && clock_now_ns() > patient_until_ns)
			return false;
	}
	return true;
}
