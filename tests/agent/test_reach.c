// SPDX-License-Identifier: GPL-2.0-only
/* A chase meets every line of its set once before it comes back; streams touch all they should. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proc/file.h"
#include "probe/reach.h"
#include "unit.h"

#define SIZE (256 * 1024)

static char *set;

/* A machine that runs this on CPU 3, and whose other CPUs are offline. */
int sched_getcpu(void)
{
	return 3;
}

size_t file_text(int directory, const char *path, char *text, size_t size)
{
	(void)directory;
	if (!strstr(path, "/cpu3/cache/index0/coherency_line_size"))
		return 0;
	return (size_t)snprintf(text, size, "128\n");
}

static int map_set(void **state)
{
	(void)state;
	set = reach_map(SIZE, 0);
	return set ? 0 : -1;
}

TEST(the_length_of_a_line_is_that_of_the_cpu_that_asks)
{
	assert_int_equal(reach_line_size(), 128);
}

/* A chase that mostly goes on to the next line would measure the prefetcher. */
TEST(a_chase_is_one_round_of_all_lines_that_goes_to_no_neighbour)
{
	static const size_t sizes[] = { 64, 128, 4096, 6 * 4096, SIZE };
	unsigned int near = 0;

	foreach (size, sizes) {
		bool met[SIZE / 64] = { false };
		char *at = set;

		reach_link(set, *size, 64, 1);
		near = 0;
		for (size_t step = 0; step < *size / 64; step++) {
			size_t place = (size_t)(at - set) / 64;
			ptrdiff_t far = *(char **)at - at;

			assert_true(place < *size / 64 && !met[place]);
			met[place] = true;
			near += far > -256 && far < 256;
			at = *(char **)at;
			if (step == 999)
				assert_ptr_equal(reach_chase(set, 1000), at);
		}
		assert_ptr_equal(at, set);
	}
	assert_true(near < SIZE / 64 / 50);
}

TEST(what_is_written_and_copied_is_all_of_it_and_no_more)
{
	char *other = set + SIZE / 2;

	memset(set, 0, SIZE);
	reach_write(set, 4096);
	for (unsigned int i = 0; i < 512; i++)
		assert_int_equal(((uint64_t *)set)[i], 1);
	assert_int_equal(set[4096], 0);
	memset(set, 7, 8192);
	reach_copy(other, set, 4096);
	assert_memory_equal(other, set, 4096);
	assert_int_equal(other[4096], 0);
	reach_read(set, SIZE);
}

UNIT_TESTS(map_set, NULL)
