// SPDX-License-Identifier: GPL-2.0-only
/*
 * Halves of the caches, by Documentation/arch/x86/resctrl.rst: a folder below /sys/fs/resctrl is a
 * group, its schemata a line for each resource ("L3:0=7ff;1=7ff", a mask of ways for each cache),
 * its tasks the threads in it. Masks have no holes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/file.h"
#include "probe/partition_groups.h"
#include "probe/partitions.h"

#define RESCTRL	  "sys/fs/resctrl"
#define TEXT_SIZE 4096

static const char *const folder[SIDES] = {
	[SIDE_VICTIM] = RESCTRL "/rtscope-victim",
	[SIDE_OTHERS] = RESCTRL "/rtscope-others",
};

static struct {
	int root;
	int group[SIDES]; /* the folders, locked; -1 */
} groups = { .root = -1, .group = { -1, -1 } };

static unsigned long half(unsigned long mask, enum side side)
{
	unsigned long lowest = mask & -mask;
	unsigned long lower = ((1UL << partitions_ways(mask) / 2) - 1) * lowest;

	return side == SIDE_OTHERS ? lower : mask & ~lower;
}

/* One resource's line with each mask halved; false where @line is not of a cache. */
static bool put_half_line(FILE *out, const char *line, enum side side)
{
	const char *at = line + strspn(line, " "), *masks = strchr(at, ':');

	if (at[0] != 'L' || !masks)
		return false;
	fprintf(out, "%.*s", (int)(masks + 1 - at), at);
	for (at = masks + 1; *at; at += *at == ';') {
		unsigned long cache, mask;
		char *end;

		cache = strtoul(at, &end, 10);
		if (end == at || *end != '=')
			break;
		mask = strtoul(end + 1, &end, 16);
		fprintf(out, "%s%lu=%lx", at == masks + 1 ? "" : ";", cache, half(mask, side));
		at = end;
	}
	fputc('\n', out);
	return true;
}

/* What the group's schemata become; false where no cache is divided. */
static bool halve(char *schemata, enum side side, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");
	bool any = false;
	char *rest = NULL;

	if (!out)
		return false;
	for (char *line = strtok_r(schemata, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		any |= put_half_line(out, line, side);
	return !fclose(out) && any;
}

/* With a lock, so that two that measure do not share them. */
static bool open_group(enum side side, char *why, size_t size)
{
	if (mkdirat(groups.root, folder[side], 0755) && errno != EEXIST) {
		snprintf(why, size, "the group /%s cannot be made: %s", folder[side],
			 errno == ENOSPC ? "resctrl has no group left" : strerror(errno));
		return false;
	}
	groups.group[side] = openat(groups.root, folder[side], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (groups.group[side] >= 0 && !flock(groups.group[side], LOCK_EX | LOCK_NB))
		return true;
	snprintf(why, size, "the group /%s is not to be had: %s", folder[side],
		 errno == EWOULDBLOCK ? "another rtscope measures with it" : strerror(errno));
	if (groups.group[side] >= 0)
		close(groups.group[side]);
	groups.group[side] = -1;
	return false;
}

static bool make(enum side side, char *why, size_t size)
{
	char schemata[TEXT_SIZE], text[TEXT_SIZE], said[128] = "";

	if (!file_text(groups.root, RESCTRL "/schemata", schemata, sizeof(schemata)) ||
	    !halve(schemata, side, text, sizeof(text)) || !open_group(side, why, size))
		return false;
	if (file_put(groups.group[side], "schemata", text))
		return true;
	file_text(groups.root, RESCTRL "/info/last_cmd_status", said, sizeof(said));
	snprintf(why, size, "half of the caches' ways cannot be given to /%s: %s", folder[side],
		 *said ? said : strerror(errno));
	why[strcspn(why, "\n")] = '\0';
	return false;
}

bool partition_groups_make(int root, char *why, size_t size)
{
	*why = '\0';
	groups.root = root;
	for (enum side side = 0; side < SIDES; side++) {
		if (make(side, why, size))
			continue;
		partition_groups_remove();
		return false;
	}
	return true;
}

bool partition_groups_join(enum side side, int tid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", tid);
	return file_put(groups.group[side], "tasks", text);
}

bool partition_groups_leave(int tid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", tid);
	return file_put(groups.root, RESCTRL "/tasks", text);
}

void partition_groups_remove(void)
{
	for (enum side side = 0; side < SIDES; side++) {
		if (groups.group[side] < 0)
			continue;
		unlinkat(groups.root, folder[side], AT_REMOVEDIR);
		close(groups.group[side]);
		groups.group[side] = -1;
	}
}
