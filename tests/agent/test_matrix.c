// SPDX-License-Identifier: GPL-2.0-only
/* A matrix tells the median of its repeats, and limits that hold it in 95 of 100 cases. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "unit.h"

static const char *taken_from(const int ends[2])
{
	static char text[8192];
	ssize_t size = read(ends[0], text, sizeof(text) - 1);

	assert_true(size > 0);
	text[size] = '\0';
	close(ends[0]);
	close(ends[1]);
	return text;
}

static const char *written(struct matrix *matrix)
{
	struct json json = { 0 };
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	json.fd = ends[1];
	matrix_write(matrix, &json);
	return taken_from(ends);
}

static const char *printed(struct matrix *matrix)
{
	int ends[2];
	FILE *out;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	out = fdopen(dup(ends[1]), "w");
	assert_non_null(out);
	matrix_print(out, matrix);
	fclose(out);
	return taken_from(ends);
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

TEST(each_cell_stands_in_its_row_and_one_without_a_figure_is_null)
{
	struct matrix matrix;

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
TEST(limits_are_those_of_the_sign_test)
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

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct matrix matrix = of_count(known[i].count);

		assert_non_null(strstr(written(&matrix), known[i].figures));
		discard(&matrix);
	}
}

TEST(the_oldest_repeats_give_way)
{
	struct matrix matrix;

	assert_int_equal(matrix_init(&matrix, "m", "ns", 1, 1, 3), 0);
	for (unsigned int i = 0; i < 10; i++)
		matrix_add(&matrix, 0, 0, i);
	assert_int_equal(matrix_count(&matrix, 0, 0), 3);
	assert_true(matrix_median(&matrix, 0, 0) == 8);
	discard(&matrix);
}

TEST(repeats_are_told_in_the_order_measured)
{
	struct matrix matrix;

	assert_int_equal(matrix_init(&matrix, "m", "ratio", 1, 2, 3), 0);
	matrix.tells_repeats = true;
	for (unsigned int i = 0; i < 4; i++)
		matrix_add(&matrix, 0, 0, i == 3 ? 0.5 : 4 - i);
	assert_non_null(strstr(written(&matrix), "\"repeats\":[[[3,2,0.5],[]]],\"value\":[[2,"));
	discard(&matrix);
}

TEST(people_see_a_line_for_each_row_and_gigabytes)
{
	struct matrix matrix;

	assert_int_equal(matrix_init(&matrix, "read", "bytes_per_s", 1, 2, 1), 0);
	matrix_label_row(&matrix, 0, "CPU 0");
	matrix_label_column(&matrix, 0, "4096");
	matrix_label_column(&matrix, 1, "8192");
	matrix_add(&matrix, 0, 0, 12.34e9);
	assert_string_equal(printed(&matrix), "\n# read (GB/s)\n"
					      "         4096    8192\n"
					      "CPU 0   12.34       -\n");
	discard(&matrix);
}

TEST(a_matrix_too_wide_for_a_terminal_is_printed_by_columns)
{
	char label[MATRIX_LABEL_SIZE];
	struct matrix matrix;
	const char *text;

	assert_int_equal(matrix_init(&matrix, "latency", "ns", 2, 22, 1), 0);
	matrix.of_columns = "bytes";
	matrix_label_row(&matrix, 0, "CPU 0");
	matrix_label_row(&matrix, 1, "all 2 CPUs");
	for (unsigned int i = 0; i < 22; i++) {
		snprintf(label, sizeof(label), "%llu", 4096ULL << i);
		matrix_label_column(&matrix, i, label);
		matrix_add(&matrix, 1, i, i + 0.5);
	}
	text = printed(&matrix);
	assert_non_null(strstr(text, "\n# latency (ns)\n     bytes       CPU 0  all 2 CPUs\n"
				     "      4096           -         0.5\n"));
	assert_non_null(strstr(text, "\n      8192           -         1.5\n"));
	discard(&matrix);
}

UNIT_TESTS(NULL, NULL)
