/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that the kernel changes when another one is written. */
#ifndef RTSCOPE_TUNE_SIDE_EFFECTS_H
#define RTSCOPE_TUNE_SIDE_EFFECTS_H

#include "tune/change.h"
#include "tune/journal.h"

/* Add to @plan the settings that its planned changes from @first on may change, as they are now. */
void tune_side_effects_plan(struct tune_plan *plan, size_t first);

/* Note in the journal what the kernel has made of them. */
void tune_side_effects_note(struct journal *journal, const struct tune_plan *plan, size_t first);

/*
 * Before an undo of @profile (NULL: any), and of that of what is in @only (NULL: all): keep what
 * somebody has made of them since.
 */
void tune_side_effects_prepare(struct journal *journal, const char *profile,
			       const struct tune_plan *only);

#endif
