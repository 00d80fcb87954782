/* SPDX-License-Identifier: GPL-2.0-only */
/* How the kernel can divide caches and bandwidth among programs (resctrl), for memory. */
#ifndef RTSCOPE_PARTITIONS_H
#define RTSCOPE_PARTITIONS_H

#include "base/json.h"

/* How many ways a mask of them has. */
unsigned int partitions_ways(unsigned long mask);

/* What is offered below @root, an open directory, as members of the object. */
void partitions_describe(struct json *json, int root);

#endif
