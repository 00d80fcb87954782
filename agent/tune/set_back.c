// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings that other programs set back while a profile is held.
 *
 * The kernel reports no writes to /proc and /sys, and inotify does not work
 * there, so the settings are read at an interval. A daemon that sets a value
 * back each time must not turn that into a fight that keeps a CPU busy: the
 * wait doubles after each time, and after MOST_TIMES the daemon wins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tune/set_back.h"
#include "tune/threads.h"

#define MOST_TIMES 6

/* Kinds whose value the kernel or a daemon adopts late, or that are held by other means. */
static bool is_polled(const struct tune_kind *kind)
{
	return kind != &tune_side_effect && kind != &tune_latency && !kind->delayed;
}

static bool is_ours(const struct journal_entry *entry, const char *profile)
{
	const struct tune_change *change = &entry->change;

	return !entry->undone && !entry->stale && is_polled(change->kind) &&
	       !strcmp(change->profile, profile) && tune_thread_is_wanted(change) &&
	       !(change->kind->given_up && change->kind->given_up(change->new_value));
}

static void set_again(struct journal_entry *entry, char *value, uint64_t poll_ns,
		      tune_report_fn *report)
{
	const char *rival = tune_running_rival(entry->change.kind);
	struct tune_change again = entry->change;
	int error = 0;

	entry->set_back++;
	entry->quiet_until_ns = clock_now_ns() + (poll_ns << entry->set_back);
	if (entry->set_back <= MOST_TIMES)
		error = tune_write(again.kind, again.key, value, again.new_value);
	if (error == ESRCH)
		return;
	again.old_value = value;
	again.state = entry->set_back > MOST_TIMES ? TUNE_SET_BACK :
		      error			   ? TUNE_FAILED :
						     TUNE_APPLIED;
	snprintf(again.why, sizeof(again.why), "another program changed it%s%s%s; %s%.100s",
		 rival ? ", likely " : "", rival ? rival : "", rival ? ", which is running" : "",
		 entry->set_back > MOST_TIMES ? "it is not set again" :
		 error			      ? "it cannot be set again: " :
						"it is set again",
		 error ? strerror(error) : "");
	report(&again);
}

void tune_set_again(struct journal *journal, const char *profile, uint64_t poll_ns,
		    tune_report_fn *report)
{
	char value[TUNE_VALUE_SIZE];

	for (size_t i = 0; i < journal->count; i++) {
		struct journal_entry *entry = &journal->entry[i];
		const struct tune_change *change = &entry->change;

		if (entry->set_back > MOST_TIMES || entry->quiet_until_ns > clock_now_ns() ||
		    !is_ours(entry, profile) ||
		    change->kind->read(change->key, value, sizeof(value)) ||
		    tune_same(change->kind, value, change->new_value))
			continue;
		set_again(entry, value, poll_ns, report);
	}
}
