// SPDX-License-Identifier: GPL-2.0-only
/* A file that is longer than the room for it, empty, full or absent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/file.h"
#include "unit.h"

static char folder[] = "/tmp/rtscope-test-XXXXXX";
static int directory;

static int make_files(void **state)
{
	int word, empty;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	word = openat(directory, "word", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	empty = openat(directory, "empty", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (write(word, "nanosecond\n", 11) != 11)
		return -1;
	return close(word) | close(empty);
}

static int remove_files(void **state)
{
	(void)state;
	unlinkat(directory, "word", 0);
	unlinkat(directory, "empty", 0);
	close(directory);
	return rmdir(folder);
}

TEST(a_file_is_given_whole_where_there_is_room)
{
	char path[64], text[64];

	assert_int_equal(file_text(directory, "word", text, sizeof(text)), 11);
	assert_string_equal(text, "nanosecond\n");
	snprintf(path, sizeof(path), "%s/word", folder);
	assert_int_equal(file_text(AT_FDCWD, path, text, sizeof(text)), 11);
	assert_string_equal(text, "nanosecond\n");
}

TEST(a_longer_file_is_cut_where_the_room_ends)
{
	char text[6] = "******";

	assert_int_equal(file_text(directory, "word", text, 5), 4);
	assert_memory_equal(text, "nano\0*", sizeof(text));
}

TEST(what_is_empty_absent_or_no_file_is_no_text)
{
	static const char *const names[] = { "empty", "absent", "." };
	char text[8];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strcpy(text, "before");
		assert_int_equal(file_text(directory, names[i], text, sizeof(text)), 0);
		assert_string_equal(text, "");
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

UNIT_TESTS(make_files, remove_files)
