/* SPDX-License-Identifier: GPL-2.0-only */
/* How long CPUs may take to leave idle states, for as long as this process holds it. */
#ifndef RTSCOPE_SYSTEM_TUNE_LATENCY_H
#define RTSCOPE_SYSTEM_TUNE_LATENCY_H

#include "system/tune_change.h"
#include "system/tune_rules.h"

/* Add to @plan what the rules allow the CPUs, the least of it. */
void tune_latency_resolve(const struct tune_rules *rules, struct tune_plan *plan);

#endif
