// SPDX-License-Identifier: GPL-2.0-only
/* What resctrl offers is told as it is, and nothing where it offers nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/partitions.h"
#include "unit.h"

/* A file and the folders above it, below @root. */
static void put(const char *root, const char *path, const char *text)
{
	char command[256];

	snprintf(command, sizeof(command), "mkdir -p $(dirname %s/%s) && printf '%s' > %s/%s", root,
		 path, text, root, path);
	assert_int_equal(system(command), 0);
}

static const char *told(const char *root)
{
	static char line[1024];
	struct json json = { 0 };
	int ends[2], directory = open(root, O_DIRECTORY | O_CLOEXEC);
	ssize_t size;

	assert_true(directory >= 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	json.fd = ends[1];
	json_begin(&json, "t");
	partitions_describe(&json, directory);
	json_end(&json);
	size = read(ends[0], line, sizeof(line) - 1);
	assert_true(size > 0);
	line[size] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(directory);
	return line;
}

TEST(what_can_be_partitioned_is_told)
{
	char root[] = "/tmp/rtscope-partitions-XXXXXX", command[64];

	assert_non_null(mkdtemp(root));
	put(root, "proc/filesystems", "nodev\\tsysfs\\n\\text4\\n");
	assert_string_equal(told(root), "{\"type\":\"t\",\"resctrl\":false}\n");
	put(root, "proc/filesystems", "nodev\\tsysfs\\nnodev\\tresctrl\\n");
	assert_string_equal(told(root), "{\"type\":\"t\",\"resctrl\":true}\n");
	put(root, "sys/fs/resctrl/info/L3DATA/cbm_mask", "7ff\\n");
	put(root, "sys/fs/resctrl/info/L3DATA/num_closids", "8\\n");
	put(root, "sys/fs/resctrl/info/MB/bandwidth_gran", "10\\n");
	assert_string_equal(told(root),
			    "{\"type\":\"t\",\"resctrl\":true,\"resctrl_l3_ways\":11,"
			    "\"resctrl_l3_groups\":8,\"resctrl_bandwidth_step_percent\":10}\n");
	put(root, "sys/fs/resctrl/info/L3/cbm_mask", "fffff\\n");
	put(root, "sys/fs/resctrl/info/L3/num_closids", "16\\n");
	put(root, "sys/fs/resctrl/info/L2/cbm_mask", "ff\\n");
	put(root, "sys/fs/resctrl/info/L2/num_closids", "8\\n");
	assert_string_equal(told(root),
			    "{\"type\":\"t\",\"resctrl\":true,\"resctrl_l3_ways\":20,"
			    "\"resctrl_l3_groups\":16,\"resctrl_l2_ways\":8,\"resctrl_l2_groups\":8,"
			    "\"resctrl_bandwidth_step_percent\":10}\n");
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

UNIT_TESTS(NULL, NULL)
