// SPDX-License-Identifier: GPL-2.0-only
/* A matrix tells the median of its repeats, and limits that hold it in 95 of 100 cases. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/matrix.h"

static const char *written(struct matrix *matrix)
{
	static char line[4096];
	struct json json = { 0 };
	int ends[2];
	ssize_t size;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	json.fd = ends[1];
	matrix_write(matrix, &json);
	size = read(ends[0], line, sizeof(line) - 1);
	assert_true(size > 0);
	line[size] = '\0';
	close(ends[0]);
	close(ends[1]);
	return line;
}

static void discard(struct matrix *matrix)
{
	free(matrix->label);
	free(matrix->count);
	free(matrix->sample);
}

/* A matrix of one cell with the figures 1 to @count, the greatest first. */
static struct matrix of_count(unsigned int count)
{
	struct matrix matrix;

	assert_int_equal(matrix_init(&matrix, "m", "ns", 1, 1, 50), 0);
	for (unsigned int i = count; i > 0; i--)
		matrix_add(&matrix, 0, 0, i);
	return matrix;
}

static void each_cell_stands_in_its_row_and_one_without_a_figure_is_null(void **state)
{
	struct matrix matrix;

	(void)state;
	assert_int_equal(matrix_init(&matrix, "message", "ns", 2, 3, 4), 0);
	matrix_label_row(&matrix, 0, "CPU 0");
	matrix_label_row(&matrix, 1, "CPU 1");
	matrix_label_column(&matrix, 2, "last");
	matrix_add(&matrix, 1, 2, 2.5);
	assert_string_equal(written(&matrix),
			    "{\"type\":\"matrix\",\"name\":\"message\",\"unit\":\"ns\","
			    "\"rows\":[\"CPU 0\",\"CPU 1\"],\"columns\":[\"\",\"\",\"last\"],"
			    "\"value\":[[null,null,null],[null,null,2.5]],"
			    "\"low\":[[null,null,null],[null,null,2.5]],"
			    "\"high\":[[null,null,null],[null,null,2.5]]}\n");
	discard(&matrix);
}

/* The ranks of the limits as tables of the binomial distribution have them. */
static void limits_are_those_of_the_sign_test(void **state)
{
	static const struct {
		unsigned int count;
		const char *figures;
	} known[] = {
		{ 5, "\"value\":[[3]],\"low\":[[1]],\"high\":[[5]]" },
		{ 6, "\"value\":[[3.5]],\"low\":[[1]],\"high\":[[6]]" },
		{ 8, "\"value\":[[4.5]],\"low\":[[1]],\"high\":[[8]]" },
		{ 9, "\"value\":[[5]],\"low\":[[2]],\"high\":[[8]]" },
		{ 15, "\"value\":[[8]],\"low\":[[4]],\"high\":[[12]]" },
		{ 25, "\"value\":[[13]],\"low\":[[8]],\"high\":[[18]]" },
		{ 50, "\"value\":[[25.5]],\"low\":[[18]],\"high\":[[33]]" },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct matrix matrix = of_count(known[i].count);

		assert_non_null(strstr(written(&matrix), known[i].figures));
		discard(&matrix);
	}
}

static void the_oldest_repeats_give_way(void **state)
{
	struct matrix matrix;

	(void)state;
	assert_int_equal(matrix_init(&matrix, "m", "ns", 1, 1, 3), 0);
	for (unsigned int i = 0; i < 10; i++)
		matrix_add(&matrix, 0, 0, i);
	assert_int_equal(matrix_count(&matrix, 0, 0), 3);
	assert_true(matrix_median(&matrix, 0, 0) == 8);
	discard(&matrix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cell_stands_in_its_row_and_one_without_a_figure_is_null),
		cmocka_unit_test(limits_are_those_of_the_sign_test),
		cmocka_unit_test(the_oldest_repeats_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
