/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the changes that rules ask for, and undoing them. */
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
 * Make the planned changes of @plan from @first on, in its order, and check each once it is made.
 * All of them are in the journal before the first is made. Ends early, where a signal that is blocked is
 * pending. Returns 0, or -1 with a sentence in @error: the journal cannot be written, and nothing
 * is changed.
 */
int tune_make(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first,
	      char *error, size_t error_size);

/* The first running program that is known to set things of this kind back; NULL for none. */
const char *tune_running_rival(const struct tune_kind *kind);

/* Warn of each running program that is known to undo some of the planned changes. */
void tune_warn_of_rivals(const struct tune_plan *plan, warn_fn *warn);

/* Forget in the journal what of @plan could not be made. */
void tune_forget_unmade(struct journal *journal, const struct tune_plan *plan);

/*
 * Check all applied changes again, and drop those from the journal that could not be made. Returns
 * whether all are in effect.
 */
bool tune_check_again(struct journal *journal, struct tune_plan *plan);

/* SIGINT, SIGTERM or SIGHUP, blocked, is pending. */
bool tune_interrupted(void);

/* Wait this long, or until interrupted. */
void tune_wait(uint64_t ns);

typedef void tune_report_fn(const struct tune_change *change);

/*
 * Undo the changes of @profile (NULL: any), the latest first, and of these only those in the plan
 * @only (NULL: all). Returns whether all that is still there is as it was or has been changed
 * by others.
 */
bool tune_undo(struct journal *journal, const char *profile, const struct tune_plan *only,
	       tune_report_fn *report);

/* Report the state of each change of @profile (NULL: any), and forget those that an earlier boot ended. */
void tune_status(struct journal *journal, const char *profile, tune_report_fn *report);

#endif
