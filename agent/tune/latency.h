/* SPDX-License-Identifier: GPL-2.0-only */
/* How long CPUs may take to leave idle states, for as long as this process holds it. */
#ifndef RTSCOPE_TUNE_LATENCY_H
#define RTSCOPE_TUNE_LATENCY_H

#include "tune/change.h"
#include "tune/rules.h"

/* The least limit of the rules; UINT64_MAX without one. */
uint64_t tune_latency_limit_ns(const struct tune_rules *rules);

/* Add to @plan what the rules allow the CPUs, the least of it. */
void tune_latency_resolve(const struct tune_rules *rules, struct tune_plan *plan);

#endif
