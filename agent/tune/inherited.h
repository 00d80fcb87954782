/* SPDX-License-Identifier: GPL-2.0-only */
/* What threads have inherited from those that were tuned. */
#ifndef RTSCOPE_TUNE_INHERITED_H
#define RTSCOPE_TUNE_INHERITED_H

#include "tune/apply.h"

/*
 * Restore threads that inherited values from threads whose entries are now restored, and are
 * still in the journal.
 */
void tune_undo_inherited(struct journal *journal, tune_report_fn *report);

#endif
