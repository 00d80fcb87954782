// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"

#define TAIL	   0.025 /* outside of each limit */
#define LINE_WIDTH 80
#define CELL_WIDTH 6

struct cell {
	bool known;
	double value, low, high;
};

int matrix_init(struct matrix *matrix, const char *name, const char *unit, unsigned int rows,
		unsigned int columns, unsigned int repeats)
{
	size_t cells = (size_t)rows * columns;

	*matrix = (struct matrix){
		.name = name,
		.unit = unit,
		.rows = rows,
		.columns = columns,
		.repeats = repeats,
		.label = calloc(rows + columns, sizeof(*matrix->label)),
		.count = calloc(cells, sizeof(*matrix->count)),
		.sample = calloc(cells * repeats, sizeof(*matrix->sample)),
	};
	return matrix->label && matrix->count && matrix->sample ? 0 : -1;
}

void matrix_label_row(struct matrix *matrix, unsigned int row, const char *text)
{
	snprintf(matrix->label[row], MATRIX_LABEL_SIZE, "%s", text);
}

void matrix_label_column(struct matrix *matrix, unsigned int column, const char *text)
{
	snprintf(matrix->label[matrix->rows + column], MATRIX_LABEL_SIZE, "%s", text);
}

void matrix_add(struct matrix *matrix, unsigned int row, unsigned int column, double figure)
{
	size_t cell = (size_t)row * matrix->columns + column;

	matrix->sample[cell * matrix->repeats + matrix->count[cell]++ % matrix->repeats] = figure;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double median_of(double *figure, unsigned int count)
{
	if (!count)
		return 0;
	qsort(figure, count, sizeof(*figure), compare);
	return (figure[(count - 1) / 2] + figure[count / 2]) / 2;
}

/* How many of @count sorted values lie below the lower limit of their median. */
static unsigned int below_limit(unsigned int count)
{
	double share = 1, sum;
	unsigned int below = 0;

	for (unsigned int i = 0; i < count; i++)
		share /= 2;
	for (sum = share; sum + share * (count - below) / (below + 1) <= TAIL; below++) {
		share *= (double)(count - below) / (below + 1);
		sum += share;
	}
	return sum <= TAIL && below < count / 2 ? below : 0;
}

unsigned int matrix_count(const struct matrix *matrix, unsigned int row, unsigned int column)
{
	unsigned int count = matrix->count[(size_t)row * matrix->columns + column];

	return count < matrix->repeats ? count : matrix->repeats;
}

double matrix_median(struct matrix *matrix, unsigned int row, unsigned int column)
{
	size_t cell = (size_t)row * matrix->columns + column;

	return median_of(matrix->sample + cell * matrix->repeats,
			 matrix_count(matrix, row, column));
}

static struct cell cell_of(struct matrix *matrix, unsigned int row, unsigned int column)
{
	size_t index = (size_t)row * matrix->columns + column;
	double *figure = matrix->sample + index * matrix->repeats;
	unsigned int count = matrix_count(matrix, row, column);
	unsigned int below = below_limit(count);

	if (!count)
		return (struct cell){ 0 };
	return (struct cell){
		.known = true,
		.value = median_of(figure, count),
		.low = figure[below],
		.high = figure[count - 1 - below],
	};
}

enum part { VALUE, LOW, HIGH };

static void put_part(struct matrix *matrix, struct json *json, const char *key, enum part part)
{
	json_array_begin(json, key);
	for (unsigned int row = 0; row < matrix->rows; row++) {
		json_array_begin(json, NULL);
		for (unsigned int column = 0; column < matrix->columns; column++) {
			struct cell cell = cell_of(matrix, row, column);

			json_double_if(json, cell.known, NULL,
				       part == VALUE ? cell.value :
				       part == LOW   ? cell.low :
						       cell.high);
		}
		json_array_end(json);
	}
	json_array_end(json);
}

/* Before any cell's repeats are sorted; the oldest one first. */
static void put_repeats(const struct matrix *matrix, struct json *json)
{
	json_array_begin(json, "repeats");
	for (unsigned int row = 0; row < matrix->rows; row++) {
		json_array_begin(json, NULL);
		for (unsigned int column = 0; column < matrix->columns; column++) {
			size_t cell = (size_t)row * matrix->columns + column;
			unsigned int count = matrix_count(matrix, row, column);

			json_array_begin(json, NULL);
			for (uint32_t i = matrix->count[cell] - count; i < matrix->count[cell]; i++)
				json_double(json, NULL,
					    matrix->sample[cell * matrix->repeats +
							   i % matrix->repeats]);
			json_array_end(json);
		}
		json_array_end(json);
	}
	json_array_end(json);
}

static void put_labels(const struct matrix *matrix, struct json *json, const char *key,
		       unsigned int from, unsigned int count)
{
	json_array_begin(json, key);
	for (unsigned int i = 0; i < count; i++)
		json_string(json, NULL, matrix->label[from + i]);
	json_array_end(json);
}

void matrix_write(struct matrix *matrix, struct json *json)
{
	json_begin(json, "matrix");
	json_string(json, "name", matrix->name);
	json_string(json, "unit", matrix->unit);
	put_labels(matrix, json, "rows", 0, matrix->rows);
	put_labels(matrix, json, "columns", matrix->rows, matrix->columns);
	if (matrix->has_repeats)
		put_repeats(matrix, json);
	put_part(matrix, json, "value", VALUE);
	put_part(matrix, json, "low", LOW);
	put_part(matrix, json, "high", HIGH);
	json_end(json);
}

/* The longest of @count labels, or @least. */
static int width_of(char (*label)[MATRIX_LABEL_SIZE], unsigned int count, size_t least)
{
	for (unsigned int i = 0; i < count; i++) {
		if (strlen(label[i]) > least)
			least = strlen(label[i]);
	}
	return (int)least;
}

static void print_cell(FILE *out, struct cell cell, int width, double scale)
{
	if (cell.known)
		fprintf(out, "  %*.4g", width, cell.value / scale);
	else
		fprintf(out, "  %*s", width, "-");
}

/* A line for each row, or for each column where those would be too many for a line. */
void matrix_print(FILE *out, struct matrix *matrix)
{
	char(*row_label)[MATRIX_LABEL_SIZE] = matrix->label;
	char(*column_label)[MATRIX_LABEL_SIZE] = matrix->label + matrix->rows;
	const char *corner = matrix->of_columns ? matrix->of_columns : "";
	int left = width_of(row_label, matrix->rows, 0);
	int across = width_of(column_label, matrix->columns, CELL_WIDTH);
	bool fast = !strcmp(matrix->unit, "bytes_per_s");
	double scale = fast ? 1e9 : 1;
	bool turned = matrix->columns > matrix->rows &&
		      left + (int)matrix->columns * (across + 2) > LINE_WIDTH;
	unsigned int lines = turned ? matrix->columns : matrix->rows;
	unsigned int cells = turned ? matrix->rows : matrix->columns;

	if (turned) {
		row_label = column_label;
		column_label = matrix->label;
		left = width_of(row_label, lines, strlen(corner));
		across = width_of(column_label, cells, CELL_WIDTH);
	}
	fprintf(out, "\n# %s (%s)\n%*s", matrix->name, fast ? "GB/s" : matrix->unit,
		turned ? left : -left, turned ? corner : "");
	for (unsigned int i = 0; i < cells; i++)
		fprintf(out, "  %*s", across, column_label[i]);
	for (unsigned int line = 0; line < lines; line++) {
		fprintf(out, "\n%*s", turned ? left : -left, row_label[line]);
		for (unsigned int i = 0; i < cells; i++)
			print_cell(out,
				   turned ? cell_of(matrix, i, line) : cell_of(matrix, line, i),
				   across, scale);
	}
	fprintf(out, "\n");
}
