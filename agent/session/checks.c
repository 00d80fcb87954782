// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session/checks.h"
#include "session/exceedances.h"
#include "session/explain.h"
#include "session/samples.h"
#include "session/threads.h"

#define TICK_NS		 (100 * NSEC_PER_MSEC)
#define SAMPLES_TICK_NS	 (20 * NSEC_PER_MSEC)
#define STARVING_PERCENT 90

uint64_t session_tick_ns(void)
{
	return samples_are_wanted() || explain_is_on() || exceedances_are_kept() ? SAMPLES_TICK_NS :
										   TICK_NS;
}

/* A thread that takes nearly all of its CPU leaves nothing for the kernel's own threads. */
static bool starves(const struct session *session, struct measuring *measuring, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - measuring->seen.cpu_checked_ns, used_ns;
	clockid_t clock;
	char text[256];

	if (measuring->role.spins || __atomic_load_n(&measuring->done, __ATOMIC_ACQUIRE) ||
	    now_ns < measuring->seen.cpu_checked_ns || elapsed_ns < session->options.watchdog_ns ||
	    pthread_getcpuclockid(measuring->thread, &clock))
		return false;
	used_ns = clock_read_ns(clock) - measuring->seen.cpu_ns;
	measuring->seen.cpu_ns += used_ns;
	measuring->seen.cpu_checked_ns = now_ns;
	if (used_ns < elapsed_ns / 100 * STARVING_PERCENT)
		return false;
	snprintf(text, sizeof(text),
		 "stopped by the watchdog: thread %u used %llu %% of CPU %d for %.1f s, which starves everything else there; use a longer interval",
		 measuring->index, (unsigned long long)(used_ns * 100 / elapsed_ns),
		 measuring->role.cpu, (double)elapsed_ns / NSEC_PER_SEC);
	session_warn("watchdog", text);
	return true;
}

/* The samples of a thread that another CPU runs are not those of the CPU that they are shown with. */
static const char *report_moved(const struct measuring *measuring)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "stopped: thread %u was pinned to CPU %d and no longer is: %s; up to %u ms of its last samples are from other CPUs",
		 measuring->index, measuring->role.cpu, thread_moved_why(measuring),
		 (unsigned int)(session_tick_ns() / NSEC_PER_MSEC));
	session_warn("thread-moved", text);
	return "failed";
}

static const char *report_failure(const struct measuring *measuring)
{
	char text[512];

	snprintf(text, sizeof(text), "thread %u could not measure on: %s", measuring->index,
		 measuring->failure ? measuring->failure : strerror(measuring->error));
	session_warn("thread-failed", text);
	return "failed";
}

const char *check_threads(const struct session *session)
{
	bool running = false;

	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];
		bool done = __atomic_load_n(&measuring->done, __ATOMIC_ACQUIRE);

		if (done ? measuring->moved : thread_moved(measuring))
			return report_moved(measuring);
		if (!done) {
			running |= !measuring->role.silent;
			continue;
		}
		if (measuring->error)
			return report_failure(measuring);
		if (measuring->record.threshold_reached)
			return "threshold";
		if (!measuring->completed && !measuring->role.silent) {
			session_warn("watchdog",
				     "stopped by the watchdog: the housekeeping thread could not run, so measuring or its load starves the machine; use a longer interval, fewer CPUs or less load");
			return "watchdog";
		}
	}
	return running ? NULL : "complete";
}

void check_loads(const struct session *session)
{
	static bool reported;
	char text[256];

	if (reported || load_set_alive(session->loads, text, sizeof(text)))
		return;
	reported = true;
	session_warn("load-ended", text);
}

const char *check_system(const struct session *session, uint64_t now_ns)
{
	for (unsigned int i = 0; i < session->threads; i++) {
		if (starves(session, &session->measuring[i], now_ns))
			return "watchdog";
	}
	check_loads(session);
	return NULL;
}

void check_stall(const struct session *session, uint64_t asleep_ns)
{
	static bool reported;
	char text[192];

	if (reported || asleep_ns < session->options.watchdog_ns)
		return;
	reported = true;
	snprintf(text, sizeof(text),
		 "the housekeeping thread stood still for %.1f s: the machine or this program was paused, or nearly starved",
		 (double)asleep_ns / NSEC_PER_SEC);
	session_warn("stalled", text);
}
