// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting until a machine that has just booted is at rest.
 *
 * A kernel goes on for a while after it has started init: it tests its
 * cryptography, changes from its first clock source to a better one, and only
 * then runs its timers at high resolution. What is measured before that is the
 * boot. So its state is polled every 20 ms, and it is at rest when it was so for
 * a whole second: nothing but this process runnable, no self-test alive, the
 * clock source the same and a lasting one, timers at high resolution.
 *
 * The poller runs as SCHED_IDLE, because otherwise it could run before the
 * kernel thread that has just woken it has gone back to sleep, and find that
 * one runnable each time.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest/settle.h"
#include "proc/file.h"
#include "proc/processes.h"
#include "proc/realtime.h"

#define POLL_NS	     (20 * NSEC_PER_MSEC)
#define QUIET_NS     NSEC_PER_SEC
#define PATIENCE_NS  (60 * NSEC_PER_SEC)
#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* How many threads could run now, this one included; 0 if unknown. */
static unsigned int runnable(void)
{
	char text[64], *slash;

	file_text(AT_FDCWD, "/proc/loadavg", text, sizeof(text));
	slash = strchr(text, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	slash = strrchr(text, ' ');
	return slash ? (unsigned int)strtoul(slash, NULL, 10) : 0;
}

static bool tests_cryptography(const struct thread *thread, void *data)
{
	(void)data;
	return !strncmp(thread->name, "cryptomgr_test", strlen("cryptomgr_test"));
}

/* Return whether @thread is another process that could run; @data gets its name. */
static bool is_runnable(const struct thread *thread, void *data)
{
	if (thread->tid == getpid() || thread->state != 'R')
		return false;
	snprintf(data, THREAD_NAME_SIZE, "%s", thread->name);
	return true;
}

static bool clock_source_lasts(char *before, size_t size)
{
	char now[64];
	bool same;

	if (!file_text(AT_FDCWD, CLOCK_SOURCE, now, sizeof(now)))
		return true;
	now[strcspn(now, "\n")] = '\0';
	same = !strcmp(now, before);
	snprintf(before, size, "%s", now);
	return same && strcmp(now, "tsc-early") && strcmp(now, "jiffies") &&
	       strcmp(now, "refined-jiffies");
}

/* Return what is not at rest, in words; NULL if all is. */
static const char *unrest(char *clock_source, size_t size)
{
	static char words[96];
	char name[THREAD_NAME_SIZE];

	/* Since 6.12 a thread that has gone to sleep may still be counted. */
	if (runnable() > 1 && processes_any(is_runnable, name)) {
		snprintf(words, sizeof(words), "%s was running", name);
		return words;
	}
	if (!clock_source_lasts(clock_source, size))
		return "the clock source was not settled";
	if (realtime_high_resolution() == STATE_NO)
		return "timers did not run at high resolution";
	return NULL;
}

static void set_policy(int policy)
{
	const struct sched_param parameter = { 0 };

	syscall(SYS_sched_setscheduler, 0, policy, &parameter); /* musl's own does nothing */
}

static bool wait_for_rest(char *why, size_t why_size)
{
	uint64_t start_ns = clock_now_ns(), quiet_since_ns = start_ns, now_ns = start_ns;
	const char *last = "it had just begun";
	char clock_source[64] = "";

	while (now_ns - start_ns < PATIENCE_NS) {
		const char *found = unrest(clock_source, sizeof(clock_source));

		if (!found && now_ns - quiet_since_ns >= QUIET_NS) {
			if (!processes_any(tests_cryptography, NULL))
				return true;
			found = "the kernel was testing its cryptography";
		}
		if (found) {
			last = found;
			quiet_since_ns = now_ns;
		}
		clock_sleep_until(now_ns + POLL_NS);
		now_ns = clock_now_ns();
	}
	snprintf(why, why_size,
		 "the boot was not over after %llu s and measuring began all the same: %s",
		 PATIENCE_NS / NSEC_PER_SEC, last);
	return false;
}

bool settle(char *why, size_t why_size)
{
	bool settled;

	set_policy(SCHED_IDLE);
	settled = wait_for_rest(why, why_size);
	set_policy(SCHED_OTHER);
	return settled;
}
