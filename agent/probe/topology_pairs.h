/* SPDX-License-Identifier: GPL-2.0-only */
/* Each pair of CPUs compared, for topology. */
#ifndef RTSCOPE_TOPOLOGY_PAIRS_H
#define RTSCOPE_TOPOLOGY_PAIRS_H

#include "probe/workers.h"

/* What a CPU does alone, by metric. */
extern const char *const pairs_metrics[];

/* Room for the metrics of all pairs; 0, or -1 where memory is short. */
int pairs_init(const struct cpus *cpus, unsigned int repeats, uint64_t slot_ns);

/* The coordinator's body: compares until there are repeats enough, or time is over. */
void pairs_conduct(struct measuring *measuring);

void pairs_write(struct json *json);
void pairs_print(FILE *out, const struct measuring *measuring, unsigned int count);

#endif
