/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that other programs set back while a profile is held. */
#ifndef RTSCOPE_TUNE_SET_BACK_H
#define RTSCOPE_TUNE_SET_BACK_H

#include <stdint.h>

#include "tune/apply.h"

/*
 * Read each setting of @profile, and write those again that others have changed, at most some times
 * each and at growing intervals. Each is reported: applied, or set-back when it is given up.
 */
void tune_set_again(struct journal *journal, const char *profile, uint64_t poll_ns,
		    tune_report_fn *report);

#endif
