/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that irqbalance leaves alone. */
#ifndef RTSCOPE_TUNE_IRQBALANCE_H
#define RTSCOPE_TUNE_IRQBALANCE_H

#include "base/warning.h"
#include "tune/change.h"
#include "tune/rules.h"

/* If irqbalance is installed, add to @plan to ban the CPUs of all rules, with those already banned. */
void tune_irqbalance_resolve(struct tune_rules *rules, struct tune_plan *plan);

#endif
