/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs interrupts go to, as rules want it. */
#ifndef RTSCOPE_TUNE_INTERRUPTS_H
#define RTSCOPE_TUNE_INTERRUPTS_H

#include "tune/change.h"
#include "tune/rules.h"

/* Add to @plan what the rules change of all interrupts and of those to come. */
void tune_interrupts_resolve(const struct tune_rules *rules, struct tune_plan *plan);

/* The same of one interrupt, where it is there and something acts on it. */
void tune_interrupt_resolve(const struct tune_rules *rules, int irq, struct tune_plan *plan);

#endif
