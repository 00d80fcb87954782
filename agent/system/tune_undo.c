// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking back what the journal tells of, the latest first.
 *
 * Only what is still as we left it is written to: what somebody has changed
 * since is theirs. All is looked at once more at the end, for some changes stand
 * in each other's way until both are taken back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "system/tune_apply.h"
#include "system/tune_inherited.h"

static bool is_wanted(const struct journal_entry *entry, const char *profile)
{
	return !entry->undone && (!profile || !strcmp(entry->change.profile, profile));
}

static bool is_planned(const struct tune_plan *plan, uint64_t number)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->change[i].number == number)
			return true;
	}
	return false;
}

/* Of the same thing, made after it and not taken back. */
static struct journal_entry *later(struct journal *journal, const struct journal_entry *entry)
{
	struct journal_entry *last = journal_holder(journal, entry->change.kind, entry->change.key);

	if (!last || last <= entry)
		return NULL;
	for (struct journal_entry *next = journal->entry + (entry - journal->entry) + 1;
	     next < last; next++) {
		if (!next->undone && !next->stale && next->change.kind == entry->change.kind &&
		    !strcmp(next->change.key, entry->change.key))
			return next;
	}
	return last;
}

static void give_up(struct tune_change *change, int error)
{
	change->state = error == ESRCH ? TUNE_GONE : TUNE_FAILED;
	snprintf(change->why, sizeof(change->why), "%s",
		 error != ESRCH	     ? strerror(error) :
		 change->kind->ended ? change->kind->ended :
				       "it has ended");
}

static void leave(struct tune_change *change, const char *value)
{
	change->state = TUNE_LEFT;
	snprintf(change->why, sizeof(change->why),
		 "somebody has changed it since: it is %.100s now", value);
}

/*
 * What outlives a boot is written in any case: a file may have been about to be replaced, and
 * a daemon may have yet to take up what it was told.
 */
static void take_back(struct tune_change *change)
{
	char value[TUNE_VALUE_SIZE];
	int error = change->kind->read(change->key, value, sizeof(value));
	bool as_was = !error && tune_same(change->kind, value, change->old_value);
	bool ours =
		!error && (tune_same(change->kind, value, change->new_value) ||
			   (change->kind->given_up && change->kind->given_up(change->new_value)));

	change->state = TUNE_RESTORED;
	*change->why = '\0';
	if (!error && !as_was && !ours)
		leave(change, value);
	else if (!error && (!as_was || change->kind->lasting))
		error = change->kind->write(change->key, change->old_value);
	if (error)
		give_up(change, error);
}

static void settle(struct journal *journal, struct journal_entry *entry)
{
	struct tune_change *change = &entry->change;
	struct journal_entry *next = later(journal, entry);

	if (entry->stale) {
		change->state = TUNE_STALE;
		snprintf(change->why, sizeof(change->why), "it ended with an earlier boot");
		journal_forget(journal, entry);
	} else if (next) {
		change->state = TUNE_LEFT;
		snprintf(change->why, sizeof(change->why),
			 "the profile %.64s has it too, and takes it back when it is undone",
			 next->change.profile);
		journal_hand_over(journal, entry, next);
	} else {
		take_back(change);
	}
}

/* Whether it is as it was; written once more where it is not. */
static void confirm(struct tune_change *change)
{
	char value[TUNE_VALUE_SIZE];
	int error = change->kind->read(change->key, value, sizeof(value));

	if (!error && !tune_same(change->kind, value, change->old_value)) {
		error = change->kind->write(change->key, change->old_value);
		if (!error)
			error = change->kind->read(change->key, value, sizeof(value));
	}
	if (error) {
		give_up(change, error);
	} else if (change->kind->delayed && tune_same(change->kind, value, change->new_value)) {
		snprintf(change->why, sizeof(change->why), "%s", change->kind->delayed);
	} else if (!tune_same(change->kind, value, change->old_value)) {
		change->state = TUNE_FAILED;
		snprintf(change->why, sizeof(change->why),
			 "it was written, but is %.100s; undo can be tried again", value);
	}
}

bool tune_undo(struct journal *journal, const char *profile, const struct tune_plan *only,
	       tune_report_fn *report)
{
	bool restored = true;

	for (size_t i = journal->count; i--;) {
		struct journal_entry *entry = &journal->entry[i];

		if (is_wanted(entry, profile) && (!only || is_planned(only, entry->change.number)))
			settle(journal, entry);
	}
	tune_undo_inherited(journal, report);
	for (size_t i = journal->count; i--;) {
		struct journal_entry *entry = &journal->entry[i];

		if (entry->change.state == TUNE_APPLIED) /* another profile's, or undone before */
			continue;
		if (entry->change.state == TUNE_RESTORED)
			confirm(&entry->change);
		if (entry->change.state == TUNE_FAILED)
			restored = false;
		else if (!entry->undone)
			journal_forget(journal, entry);
		report(&entry->change);
		entry->change.state = TUNE_APPLIED; /* the next undo is none of its business */
	}
	return restored;
}

static void look(struct tune_change *change)
{
	char value[TUNE_VALUE_SIZE];
	int error = change->kind->read(change->key, value, sizeof(value));

	*change->why = '\0';
	if (error == ESRCH) {
		give_up(change, error);
	} else if (error) {
		change->state = TUNE_SET_BACK;
		snprintf(change->why, sizeof(change->why), "it cannot be read: %s",
			 strerror(error));
	} else if (tune_same(change->kind, value, change->new_value)) {
		change->state = TUNE_IN_EFFECT;
		if (change->kind->effect &&
		    change->kind->effect(change->key, value, change->why, sizeof(change->why)) ==
			    EFFECT_NONE)
			change->state = TUNE_SET_BACK;
	} else {
		change->state = TUNE_SET_BACK;
		snprintf(change->why, sizeof(change->why), "it is %.100s now", value);
	}
}

void tune_status(struct journal *journal, const char *profile, tune_report_fn *report)
{
	for (size_t i = 0; i < journal->count; i++) {
		struct journal_entry *entry = &journal->entry[i], *next;

		if (!is_wanted(entry, profile))
			continue;
		next = later(journal, entry);
		if (entry->stale) {
			settle(journal, entry);
		} else if (next) {
			entry->change.state = TUNE_LEFT;
			snprintf(entry->change.why, sizeof(entry->change.why),
				 "the profile %.64s has it too", next->change.profile);
		} else {
			look(&entry->change);
		}
		report(&entry->change);
	}
}
