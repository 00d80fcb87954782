/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two groups of resctrl, each with half the ways of every cache that it divides.
 *
 * They are new ones besides the existing ones, so that nobody else's share changes: whatever kills
 * this process leaves two groups without threads, which the next one takes over and removes.
 */
#ifndef RTSCOPE_PARTITION_GROUPS_H
#define RTSCOPE_PARTITION_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

enum side {
	SIDE_VICTIM, /* has the upper half */
	SIDE_OTHERS,
	SIDES,
};

/*
 * Make both below @root, an open directory that stays open. False where that cannot be, with a
 * sentence in @why; it is empty where resctrl is not mounted or divides no cache.
 */
bool partition_groups_make(int root, char *why, size_t size);

/* Put a thread into a group, or back among all others; false with errno where that cannot be. */
bool partition_groups_join(enum side side, int tid);
bool partition_groups_leave(int tid);

void partition_groups_remove(void);

#endif
