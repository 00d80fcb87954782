/* SPDX-License-Identifier: GPL-2.0-only */
/* What threads have inherited from those that were tuned. */
#ifndef RTSCOPE_TUNE_INHERITED_H
#define RTSCOPE_TUNE_INHERITED_H

#include "tune/apply.h"

/*
 * Take back from threads that were born since what they have of those whose entries are now
 * restored, and not yet forgotten.
 */
void tune_undo_inherited(struct journal *journal, tune_report_fn *report);

#endif
