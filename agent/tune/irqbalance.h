/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that irqbalance leaves alone. */
#ifndef RTSCOPE_TUNE_IRQBALANCE_H
#define RTSCOPE_TUNE_IRQBALANCE_H

#include "base/warning.h"
#include "tune/change.h"
#include "tune/rules.h"

/* Add to @plan what bans all the rules' CPUs, beside those that are banned, where it is there. */
void tune_irqbalance_resolve(struct tune_rules *rules, struct tune_plan *plan);

#endif
