// SPDX-License-Identifier: GPL-2.0-only
/*
 * What resctrl offers. Its info folder has one for each resource; with code and data
 * apart, the caches' are those of each.
 */
#include <stdlib.h>
#include <string.h>

#include "proc/file.h"
#include "probe/partitions.h"

#define TEXT_SIZE 4096

unsigned int partitions_ways(unsigned long mask)
{
	unsigned int count = 0;

	for (; mask; mask &= mask - 1)
		count++;
	return count;
}

static bool put_ways(struct json *json, int root, const char *mask_file, const char *key)
{
	char text[32];
	unsigned int ways = 0;

	if (file_text(root, mask_file, text, sizeof(text)))
		ways = partitions_ways(strtoul(text, NULL, 16));
	if (ways)
		json_u64(json, key, ways);
	return ways;
}

static void put_number(struct json *json, int root, const char *file, const char *key)
{
	char text[32];

	if (file_text(root, file, text, sizeof(text)))
		json_u64(json, key, strtoul(text, NULL, 10));
}

#define INFO "sys/fs/resctrl/info/"

void partitions_describe(struct json *json, int root)
{
	char text[TEXT_SIZE] = "";

	file_text(root, "proc/filesystems", text, sizeof(text));
	json_bool(json, "resctrl", strstr(text, "\tresctrl\n") != NULL);
	if (put_ways(json, root, INFO "L3/cbm_mask", "resctrl_l3_ways"))
		put_number(json, root, INFO "L3/num_closids", "resctrl_l3_groups");
	else if (put_ways(json, root, INFO "L3DATA/cbm_mask", "resctrl_l3_ways"))
		put_number(json, root, INFO "L3DATA/num_closids", "resctrl_l3_groups");
	if (put_ways(json, root, INFO "L2/cbm_mask", "resctrl_l2_ways"))
		put_number(json, root, INFO "L2/num_closids", "resctrl_l2_groups");
	put_number(json, root, INFO "MB/bandwidth_gran", "resctrl_bandwidth_step_percent");
}
