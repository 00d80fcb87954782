/* SPDX-License-Identifier: GPL-2.0-only */
/* A cpuset that has its CPUs to itself, made while the machine runs. */
#ifndef RTSCOPE_TUNE_PARTITION_H
#define RTSCOPE_TUNE_PARTITION_H

#include "tune/change.h"
#include "tune/rules.h"

/* Add to @plan what makes the partition of all the rules' CPUs. */
void tune_partition_resolve(struct tune_rules *rules, struct tune_plan *plan);

#endif
