// SPDX-License-Identifier: GPL-2.0-only
/* Files that are longer than the room for them, empty, full, absent, found by wildcards, or a status. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pattern.h"
#include "proc/file.h"
#include "proc/paths.h"
#include "proc/status.h"
#include "unit.h"

static char folder[] = "/tmp/rtscope-test-XXXXXX";
static int directory;

static int make_files(void **state)
{
	char commands[512];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(commands, sizeof(commands),
		 "cd %s && echo nanosecond >word && touch empty cpu0 cpu10 cpu2 cpufreq .cpu3 7 && "
		 "printf 'Name:\ta\\\\nUid:\t9 9 9 9\nUmask:\t0022\nTgid:\t41\nUid:\t0\t1\t2\t3\n"
		 "NSpid:\t41\t7\t1\nCpus_allowed_list:\t0-3,8\nvoluntary_ctxt_switches:\t12\n"
		 "nonvoluntary_ctxt_switches:\t3' >status",
		 folder);
	return system(commands);
}

static int remove_files(void **state)
{
	char command[64];

	(void)state;
	close(directory);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

TEST(a_file_is_cut_where_the_room_ends_and_what_is_none_has_no_text)
{
	static const struct {
		const char *name;
		size_t room;
		const char *text;
	} readings[] = {
		{ "word", 64, "nanosecond\n" },
		{ "word", 5, "nano" },
		{ "empty", 8, "" },
		{ "absent", 8, "" },
		{ ".", 8, "" },
	};
	char path[64], text[64];

	foreach (each, readings) {
		memset(text, '*', sizeof(text));
		assert_int_equal(file_text(directory, each->name, text, each->room),
				 strlen(each->text));
		assert_string_equal(text, each->text);
		assert_true(each->room == sizeof(text) || text[each->room] == '*');
		snprintf(path, sizeof(path), "%s/%s", folder, each->name);
		file_text(AT_FDCWD, path, text, each->room);
		assert_string_equal(text, each->text);
	}
}

TEST(only_a_file_that_is_there_is_written_into)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "%s/word", folder);
	assert_true(file_put(AT_FDCWD, path, "micro"));
	file_text(AT_FDCWD, path, text, sizeof(text));
	assert_string_equal(text, "microecond\n");
	snprintf(path, sizeof(path), "%s/absent", folder);
	assert_false(file_put(AT_FDCWD, path, "micro"));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(access(path, F_OK), -1);
	assert_false(file_put(AT_FDCWD, "/dev/full", "micro"));
	assert_int_equal(errno, ENOSPC);
}

static char found[64];

static bool add_found(const char *path, void *most)
{
	strcat(found, path);
	return strlen(found) < *(size_t *)most;
}

static const char *find(const char *root, const char *pattern, size_t most)
{
	bool went_on;

	*found = '\0';
	went_on = paths_matching(root, pattern, add_found, &most);
	assert_int_equal(went_on, strlen(found) < most);
	return found;
}

TEST(paths_are_found_by_wildcards_in_the_order_of_names)
{
	static const struct {
		const char *pattern;
		size_t most;
		const char *found;
	} searches[] = {
		{ "/*cpu" PATTERN_DIGIT "*", SIZE_MAX, "/cpu0/cpu10/cpu2" },
		{ "/cpu" PATTERN_NONZERO "*", SIZE_MAX, "/cpu10/cpu2" },
		{ "/cpu?", SIZE_MAX, "/cpu0/cpu2" },
		{ "/cpu*", 1, "/cpu0" },
		{ "/cpu*/absent", 1, "/cpu0/absent" },
		{ "/absent", SIZE_MAX, "/absent" },
	};
	char pattern[64];

	foreach (each, searches)
		assert_string_equal(find(folder, each->pattern, each->most), each->found);
	snprintf(pattern, sizeof(pattern), "%s/w?rd", folder);
	assert_string_equal(find("", pattern, SIZE_MAX) + strlen(folder), "/word");
}

TEST(a_status_is_read_by_its_keys_whatever_the_name_is)
{
	const char *status = status_read(directory);
	uint64_t numbers[4], number = 0;
	char text[8];

	assert_non_null(status);
	assert_true(status_copy(status, "Cpus_allowed_list", text, sizeof(text)));
	assert_string_equal(text, "0-3,8");
	assert_true(status_copy(status, "Name", text, sizeof(text)));
	assert_string_equal(text, "a\\nUid:"); /* cut to its size */
	assert_true(status_number(status, "nonvoluntary_ctxt_switches", &number));
	assert_int_equal(number, 3);
	assert_int_equal(status_numbers(status, "Uid", numbers, 4), 4);
	assert_printed("0 1 2 3", "%lu %lu %lu %lu", numbers[0], numbers[1], numbers[2],
		       numbers[3]);
	assert_int_equal(status_numbers(status, "NSpid", numbers, 4), 3);
	assert_printed("41 7 1", "%lu %lu %lu", numbers[0], numbers[1], numbers[2]);
	assert_false(status_number(status, "pid", &number));
	assert_null(status_value(status, "CapEff"));
	assert_null(status_read(AT_FDCWD));
}

UNIT_TESTS(make_files, remove_files)
