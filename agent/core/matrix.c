// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/matrix.h"

#define TAIL 0.025 /* outside of each limit */

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

/* How many of @count sorted figures lie below the lower limit of their median. */
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
	put_part(matrix, json, "value", VALUE);
	put_part(matrix, json, "low", LOW);
	put_part(matrix, json, "high", HIGH);
	json_end(json);
}

void matrix_print(struct matrix *matrix)
{
	printf("\n# %s (%s)\n%-16s", matrix->name, matrix->unit, "");
	for (unsigned int column = 0; column < matrix->columns; column++)
		printf(" %11s", matrix->label[matrix->rows + column]);
	for (unsigned int row = 0; row < matrix->rows; row++) {
		printf("\n%-16s", matrix->label[row]);
		for (unsigned int column = 0; column < matrix->columns; column++) {
			struct cell cell = cell_of(matrix, row, column);

			if (cell.known)
				printf(" %11.4g", cell.value);
			else
				printf(" %11s", "-");
		}
	}
	printf("\n");
}
