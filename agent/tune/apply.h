/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the changes that rules ask for, and taking them back. */
#ifndef RTSCOPE_TUNE_APPLY_H
#define RTSCOPE_TUNE_APPLY_H

#include "base/warning.h"
#include "tune/change.h"
#include "tune/journal.h"
#include "tune/rules.h"

/* Add to @plan what the rules change of the machine as it is now. Nothing is changed. */
void tune_resolve(struct tune_rules *rules, struct tune_plan *plan, warn_fn *warn);

/*
 * All of @plan from @first on is @profile's. What is in effect already and another profile's
 * doing is planned, to be both's; what else is in effect is taken out.
 */
void tune_claim(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first);

/* Returns 0 where this process may make all planned changes, or -1 with a sentence in @error. */
int tune_may(const struct tune_plan *plan, char *error, size_t error_size);

/*
 * Make the planned changes of @plan from @first on, in its order, each looked at once it is made,
 * all of them in the journal before the first. Ends early, where a signal that is blocked is
 * pending. Returns 0, or -1 with a sentence in @error: the journal cannot be written, and nothing
 * is changed.
 */
int tune_make(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first,
	      char *error, size_t error_size);

/* Forget in the journal what of @plan could not be made. */
void tune_forget_unmade(struct journal *journal, const struct tune_plan *plan);

/*
 * Look once more at what is applied, and forget in the journal what could not be. Returns whether
 * all has held.
 */
bool tune_look_again(struct journal *journal, struct tune_plan *plan);

/* SIGINT, SIGTERM or SIGHUP, blocked, is pending. */
bool tune_interrupted(void);

/* Wait this long, or until interrupted. */
void tune_wait(uint64_t ns);

typedef void tune_report_fn(const struct tune_change *change);

/*
 * Take back what @profile (NULL: any) has changed, the latest first, and of that what is in the
 * plan @only (NULL: all). Returns whether all that is still there is as it was or has been changed
 * by others.
 */
bool tune_undo(struct journal *journal, const char *profile, const struct tune_plan *only,
	       tune_report_fn *report);

/* Tell of each change of @profile (NULL: any) how it stands, and forget what an earlier boot ended. */
void tune_status(struct journal *journal, const char *profile, tune_report_fn *report);

#endif
