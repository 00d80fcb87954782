// SPDX-License-Identifier: GPL-2.0-only
/* Partitions of caches on trees of files as resctrl has them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/file.h"
#include "probe/partition_groups.h"
#include "probe/partitions.h"
#include "unit.h"

#define VICTIM "sys/fs/resctrl/rtscope-victim/"
#define OTHERS "sys/fs/resctrl/rtscope-others/"

#define TEMPLATE "/tmp/rtscope-partitions-XXXXXX"

static char root[] = TEMPLATE, why[256];
static int directory;

/* A shell's commands in the tree. */
static void run(const char *commands)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && %s", root, commands);
	assert_int_equal(system(line), 0);
}

static int make_tree(void **state)
{
	(void)state;
	strcpy(root, TEMPLATE);
	assert_non_null(mkdtemp(root));
	directory = open(root, O_DIRECTORY | O_CLOEXEC);
	run("mkdir -p proc sys/fs/resctrl/info");
	return directory < 0;
}

static int remove_tree(void **state)
{
	char command[64];

	(void)state;
	close(directory);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void mount_as(const char *schemata)
{
	char commands[512];

	snprintf(commands, sizeof(commands),
		 "cd sys/fs/resctrl && printf '%s' >schemata && mkdir rtscope-victim "
		 "rtscope-others && touch tasks "
		 "rtscope-victim/tasks rtscope-victim/schemata "
		 "rtscope-others/tasks rtscope-others/schemata",
		 schemata);
	run(commands);
}

static void assert_holds(const char *path, const char *wanted)
{
	char text[256] = "";

	file_text(directory, path, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void assert_described(const char *members)
{
	char line[1024] = "", wanted[1024];
	struct json json = { .fd = memfd_create("line", MFD_CLOEXEC) };

	json_begin(&json, "t");
	partitions_describe(&json, directory);
	json_end(&json);
	assert_true(pread(json.fd, line, sizeof(line) - 1, 0) > 0);
	close(json.fd);
	snprintf(wanted, sizeof(wanted), "{\"type\":\"t\",%s}\n", members);
	assert_string_equal(line, wanted);
}

TEST(all_that_can_be_partitioned_is_described, make_tree, remove_tree)
{
	run("printf 'nodev\tsysfs\n\text4\n' >proc/filesystems");
	assert_described("\"resctrl\":false");
	run("printf 'nodev\tsysfs\nnodev\tresctrl\n' >proc/filesystems");
	assert_described("\"resctrl\":true");
	run("cd sys/fs/resctrl/info && mkdir L3DATA MB && echo 7ff >L3DATA/cbm_mask && "
	    "echo 8 >L3DATA/num_closids && echo 10 >MB/bandwidth_gran");
	assert_described("\"resctrl\":true,\"resctrl_l3_ways\":11,\"resctrl_l3_groups\":8,"
			 "\"resctrl_bandwidth_step_percent\":10");
	run("cd sys/fs/resctrl/info && mkdir L3 L2 && echo fffff >L3/cbm_mask && "
	    "echo 16 >L3/num_closids && echo ff >L2/cbm_mask && echo 8 >L2/num_closids");
	assert_described("\"resctrl\":true,\"resctrl_l3_ways\":20,\"resctrl_l3_groups\":16,"
			 "\"resctrl_l2_ways\":8,\"resctrl_l2_groups\":8,"
			 "\"resctrl_bandwidth_step_percent\":10");
}

TEST(each_group_has_half_the_ways_of_each_cache_and_its_threads, make_tree, remove_tree)
{
	mount_as("    MB:0=100;1=100\\n    L3:0=7ff;1=7f0\\n    L2:0=ff\\n");
	assert_true(partition_groups_make(directory, why, sizeof(why)));
	assert_holds(VICTIM "schemata", "L3:0=7e0;1=780\nL2:0=f0\n");
	assert_holds(OTHERS "schemata", "L3:0=1f;1=70\nL2:0=f\n");
	assert_true(partition_groups_join(SIDE_VICTIM, 17));
	assert_true(partition_groups_join(SIDE_OTHERS, 18));
	assert_holds(VICTIM "tasks", "17");
	assert_holds(OTHERS "tasks", "18");
	assert_true(partition_groups_leave(17));
	assert_holds("sys/fs/resctrl/tasks", "17");
	run("rm " VICTIM "* " OTHERS "*"); /* as the kernel removes a group's files with it */
	partition_groups_remove();
	assert_int_equal(faccessat(directory, VICTIM, F_OK, 0), -1);
	assert_int_equal(faccessat(directory, OTHERS, F_OK, 0), -1);
}

TEST(where_no_cache_can_be_divided_no_groups_are_made_in_silence, make_tree, remove_tree)
{
	strcpy(why, "?");
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_string_equal(why, "");
	mount_as("MB:0=100\\n");
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_string_equal(why, "");
}

TEST(a_group_of_another_process_or_that_the_kernel_refuses_is_reported, make_tree, remove_tree)
{
	int other;

	mount_as("L3:0=fff\\n");
	other = openat(directory, OTHERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_non_null(strstr(why, "rtscope-others is not to be had: another rtscope measures"));
	close(other);
	run("mkdir -p " VICTIM " " OTHERS " && rm -f " VICTIM "schemata && "
	    "printf 'Mask too small\n' >sys/fs/resctrl/info/last_cmd_status");
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_non_null(strstr(why, "cannot be given to /sys/fs/resctrl/rtscope-victim: Mask too"));
}

UNIT_TESTS(NULL, NULL)
