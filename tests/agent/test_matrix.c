// SPDX-License-Identifier: GPL-2.0-only
/* A matrix tells the median of its repeats, and limits that hold it in 95 of 100 cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/matrix.h"
#include "unit.h"

static char text[8192];

static const char *read_back(int fd)
{
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(size > 0);
	text[size] = '\0';
	close(fd);
	return text;
}

static const char *written(struct matrix *matrix)
{
	struct json json = { .fd = memfd_create("lines", MFD_CLOEXEC) };

	matrix_write(matrix, &json);
	return read_back(json.fd);
}

static const char *printed(struct matrix *matrix)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);
	FILE *out = fdopen(dup(fd), "w");

	matrix_print(out, matrix);
	fclose(out);
	return read_back(fd);
}

static struct matrix fresh(const char *name, const char *unit, unsigned int rows,
			   unsigned int columns, unsigned int repeats)
{
	struct matrix matrix;

	assert_int_equal(matrix_init(&matrix, name, unit, rows, columns, repeats), 0);
	for (unsigned int i = 0; i < rows; i++)
		matrix_label_row(&matrix, i, i ? "all 2 CPUs" : "CPU 0");
	return matrix;
}

static void discard(struct matrix *matrix)
{
	free(matrix->label);
	free(matrix->count);
	free(matrix->sample);
}

TEST(each_cell_stands_in_its_row_and_one_without_a_metric_is_null)
{
	struct matrix matrix = fresh("message", "ns", 2, 3, 4);

	matrix_label_column(&matrix, 2, "last");
	matrix_add(&matrix, 1, 2, 2.5);
	assert_string_equal(written(&matrix),
			    "{\"type\":\"matrix\",\"name\":\"message\",\"unit\":\"ns\","
			    "\"rows\":[\"CPU 0\",\"all 2 CPUs\"],\"columns\":[\"\",\"\",\"last\"],"
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
		double value, low, high;
	} known[] = {
		{ 5, 3, 1, 5 },	  { 6, 3.5, 1, 6 },  { 8, 4.5, 1, 8 },	   { 9, 5, 2, 8 },
		{ 15, 8, 4, 12 }, { 25, 13, 8, 18 }, { 50, 25.5, 18, 33 },
	};

	foreach (each, known) {
		struct matrix matrix = fresh("m", "ns", 1, 1, 50);
		char wanted[128];

		for (unsigned int i = each->count; i > 0; i--)
			matrix_add(&matrix, 0, 0, i);
		snprintf(wanted, sizeof(wanted), "\"value\":[[%g]],\"low\":[[%g]],\"high\":[[%g]]",
			 each->value, each->low, each->high);
		assert_non_null(strstr(written(&matrix), wanted));
		discard(&matrix);
	}
}

TEST(repeats_are_in_the_order_measured_and_the_oldest_give_way)
{
	struct matrix matrix = fresh("m", "ratio", 1, 2, 3);

	matrix.has_repeats = true;
	for (unsigned int i = 0; i < 4; i++)
		matrix_add(&matrix, 0, 0, i == 3 ? 0.5 : 4 - i);
	assert_int_equal(matrix_count(&matrix, 0, 0), 3);
	assert_non_null(strstr(written(&matrix), "\"repeats\":[[[3,2,0.5],[]]],\"value\":[[2,"));
	assert_true(matrix_median(&matrix, 0, 0) == 2);
	discard(&matrix);
}

TEST(people_see_gigabytes_by_rows_and_a_matrix_too_wide_for_a_terminal_by_columns)
{
	struct matrix narrow = fresh("read", "bytes_per_s", 1, 2, 1);
	struct matrix wide = fresh("latency", "ns", 2, 22, 1);

	wide.of_columns = "bytes";
	for (unsigned int i = 0; i < 22; i++) {
		char label[MATRIX_LABEL_SIZE];

		snprintf(label, sizeof(label), "%llu", 4096ULL << i);
		matrix_label_column(&wide, i, label);
		matrix_add(&wide, 1, i, i + 0.5);
		if (i < 2)
			matrix_label_column(&narrow, i, label);
	}
	matrix_add(&narrow, 0, 0, 12.34e9);
	assert_string_equal(printed(&narrow), "\n# read (GB/s)\n"
					      "         4096    8192\n"
					      "CPU 0   12.34       -\n");
	assert_non_null(strstr(printed(&wide), "\n# latency (ns)\n"
					       "     bytes       CPU 0  all 2 CPUs\n"
					       "      4096           -         0.5\n"
					       "      8192           -         1.5\n"));
	discard(&narrow);
	discard(&wide);
}

UNIT_TESTS(NULL, NULL)
