// SPDX-License-Identifier: GPL-2.0-only
/*
 * Undoing what the journal lists, the latest change first.
 *
 * A setting is written only if it still has the value that we gave it: another value was set by
 * somebody else since, and stays. All changes are checked again at the end, because some cannot be
 * undone before another one is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tune/apply.h"
#include "tune/inherited.h"
#include "tune/side_effects.h"

#define NEWER "a newer rtscope-agent wrote about it in the journal: undo it with that one"

static bool is_wanted(const struct journal_entry *entry, const char *profile)
{
	return !entry->undone && (!profile || !strcmp(entry->change.profile, profile));
}

/* Return the later change of the same setting that is not undone yet. */
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
	snprintf(change->why, sizeof(change->why), "%s", tune_error_text(change->kind, error));
}

static void leave(struct tune_change *change, const char *value)
{
	change->state = TUNE_LEFT;
	snprintf(change->why, sizeof(change->why),
		 "somebody has changed it since: it is %.100s now", value);
}

/*
 * A setting that outlives a boot is written in any case: a replacement of its file may have been
 * under way, and a daemon may not have applied the last value yet.
 */
static void restore(struct tune_change *change)
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
		error = tune_write(change->kind, change->key, value, change->old_value);
	if (error)
		give_up(change, error);
}

static void settle(struct journal *journal, struct journal_entry *entry)
{
	struct tune_change *change = &entry->change;
	struct journal_entry *next =
		change->kind == &tune_side_effect ? NULL : later(journal, entry);

	if (entry->unclear) {
		change->state = TUNE_FAILED;
		snprintf(change->why, sizeof(change->why), NEWER);
	} else if (entry->stale) {
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
		restore(change);
	}
}

/* Whether it is as it was; written once more where it is not. */
static void confirm(struct tune_change *change)
{
	char value[TUNE_VALUE_SIZE];
	int error = change->kind->read(change->key, value, sizeof(value));

	if (!error && !tune_same(change->kind, value, change->old_value)) {
		error = tune_write(change->kind, change->key, value, change->old_value);
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

/* Name what only a newer agent can undo; returns whether there was any. */
static bool refuse_foreign(struct journal *journal, const char *profile,
			   const struct tune_plan *only, tune_report_fn *report)
{
	bool found = false;

	for (struct journal_foreign *one = journal->foreign; one && !only; one = one->next) {
		if (one->undone || (profile && strcmp(one->change.profile, profile) != 0))
			continue;
		one->change.state = TUNE_FAILED;
		snprintf(one->change.why, sizeof(one->change.why), NEWER);
		report(&one->change);
		found = true;
	}
	return found;
}

/* Though it could not be written: restoring a side effect of it may have done that. */
static bool is_as_was(struct tune_change *change)
{
	char value[TUNE_VALUE_SIZE];

	if (change->kind->effect || change->kind->read(change->key, value, sizeof(value)) ||
	    !tune_same(change->kind, value, change->old_value))
		return false;
	change->state = TUNE_RESTORED;
	*change->why = '\0';
	return true;
}

bool tune_undo(struct journal *journal, const char *profile, const struct tune_plan *only,
	       tune_report_fn *report)
{
	bool restored = true;

	tune_side_effects_prepare(journal, profile, only);
	for (size_t i = journal->count; i--;) {
		struct journal_entry *entry = &journal->entry[i];

		if (is_wanted(entry, profile) &&
		    (!only || tune_plan_has(only, entry->change.number)))
			settle(journal, entry);
	}
	tune_undo_inherited(journal, report);
	for (size_t i = journal->count; i--;) {
		struct journal_entry *entry = &journal->entry[i];

		if (entry->change.state == TUNE_APPLIED) /* another profile's, or undone before */
			continue;
		if (entry->change.state == TUNE_RESTORED ||
		    (entry->change.state == TUNE_FAILED && !entry->unclear &&
		     is_as_was(&entry->change)))
			confirm(&entry->change);
		if (entry->change.state == TUNE_FAILED)
			restored = false;
		else if (!entry->undone)
			journal_forget(journal, entry);
		report(&entry->change);
		entry->change.state = TUNE_APPLIED; /* the next undo is none of its business */
	}
	return !refuse_foreign(journal, profile, only, report) && restored;
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

		if (!is_wanted(entry, profile) ||
		    (entry->change.kind == &tune_side_effect && !entry->stale))
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
