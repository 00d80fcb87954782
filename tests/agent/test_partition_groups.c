// SPDX-License-Identifier: GPL-2.0-only
/* Halves of the caches on trees of files as resctrl has them, whose groups are there beforehand. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "proc/file.h"
#include "probe/partition_groups.h"
#include "unit.h"

static char root[] = "/tmp/rtscope-groups-XXXXXX";
static int directory;

static void run(const char *format, const char *text)
{
	char command[512];

	snprintf(command, sizeof(command), format, root, text);
	assert_int_equal(system(command), 0);
}

static void assert_holds(const char *path, const char *wanted)
{
	char text[256] = "";

	file_text(directory, path, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static int make_tree(void **state)
{
	(void)state;
	strcpy(root + sizeof(root) - 7, "XXXXXX");
	assert_non_null(mkdtemp(root));
	directory = open(root, O_DIRECTORY | O_CLOEXEC);
	return directory < 0;
}

static int remove_tree(void **state)
{
	(void)state;
	close(directory);
	run("rm -r %s%s", "");
	return 0;
}

static void mount_as(const char *schemata)
{
	run("mkdir -p %s/sys/fs/resctrl/info%s", "");
	run("cd %s/sys/fs/resctrl && printf '%s' >schemata && : >tasks && "
	    "mkdir rtscope-victim rtscope-others && "
	    "touch rtscope-victim/schemata rtscope-victim/tasks rtscope-others/schemata "
	    "rtscope-others/tasks",
	    schemata);
}

#define VICTIM "sys/fs/resctrl/rtscope-victim/"
#define OTHERS "sys/fs/resctrl/rtscope-others/"

TEST(each_has_half_the_ways_of_each_cache, make_tree, remove_tree)
{
	char why[256];

	mount_as("    MB:0=100;1=100\\n    L3:0=7ff;1=7f0\\n    L2:0=ff\\n");
	assert_true(partition_groups_make(directory, why, sizeof(why)));
	assert_holds(VICTIM "schemata", "L3:0=7e0;1=780\nL2:0=f0\n");
	assert_holds(OTHERS "schemata", "L3:0=1f;1=70\nL2:0=f\n");
	partition_groups_remove();
}

TEST(threads_go_into_their_group_and_back, make_tree, remove_tree)
{
	char why[256];

	mount_as("L3:0=fff\\n");
	assert_true(partition_groups_make(directory, why, sizeof(why)));
	assert_true(partition_groups_join(SIDE_VICTIM, 17));
	assert_true(partition_groups_join(SIDE_OTHERS, 18));
	assert_holds(VICTIM "tasks", "17");
	assert_holds(OTHERS "tasks", "18");
	assert_true(partition_groups_leave(17));
	assert_holds("sys/fs/resctrl/tasks", "17");
	partition_groups_remove();
}

TEST(what_divides_no_cache_makes_none_and_says_nothing, make_tree, remove_tree)
{
	char why[256] = "?";

	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_string_equal(why, "");
	mount_as("MB:0=100\\n");
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_string_equal(why, "");
}

TEST(groups_are_gone_at_the_end, make_tree, remove_tree)
{
	char why[256];

	mount_as("L3:0=fff\\n");
	run("cd %s/sys/fs/resctrl && rm rtscope-victim/tasks rtscope-others/tasks%s", "");
	assert_true(partition_groups_make(directory, why, sizeof(why)));
	run("cd %s/sys/fs/resctrl && rm rtscope-victim/* rtscope-others/*%s", "");
	partition_groups_remove();
	assert_int_equal(faccessat(directory, VICTIM, F_OK, 0), -1);
	assert_int_equal(faccessat(directory, OTHERS, F_OK, 0), -1);
}

TEST(groups_of_another_rtscope_are_left_to_it, make_tree, remove_tree)
{
	char why[256];
	int other;

	mount_as("L3:0=fff\\n");
	other = openat(directory, OTHERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_non_null(strstr(why, "rtscope-others is not to be had: another rtscope measures"));
	close(other);
}

TEST(what_the_kernel_says_of_a_refusal_is_told, make_tree, remove_tree)
{
	char why[256];

	mount_as("L3:0=fff\\n");
	run("cd %s/sys/fs/resctrl && rm rtscope-victim/schemata && "
	    "printf 'Mask too small\\n' >info/last_cmd_status%s",
	    "");
	assert_false(partition_groups_make(directory, why, sizeof(why)));
	assert_non_null(strstr(why, "cannot be given to /sys/fs/resctrl/rtscope-victim: Mask too"));
}

UNIT_TESTS(NULL, NULL)
