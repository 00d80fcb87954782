/* SPDX-License-Identifier: GPL-2.0-only */
/* The two ways of writing measurement points: the protocol, and drvPerfMeasure's table. */
#ifndef RTSCOPE_POINTS_OUTPUT_H
#define RTSCOPE_POINTS_OUTPUT_H

#include "base/json.h"
#include "base/warning.h"
#include "proc/points_page.h"

/* Write all points of @target as they are now: to @json, or as a table where that is NULL. */
void points_show(const struct points_target *target, struct json *json, bool histograms,
		 uint64_t time_ns, warn_fn *warn);

#endif
