/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of the kernel from the next boot on, in the boot loader's own place. */
#ifndef RTSCOPE_TUNE_BOOT_H
#define RTSCOPE_TUNE_BOOT_H

#include "tune/change.h"
#include "tune/rules.h"

/* Add to @plan what adds the parameters of all the rules. */
void tune_boot_resolve(struct tune_rules *rules, struct tune_plan *plan);

#endif
