/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of values, each measured several times: the `matrix` line.
 *
 * A cell is shown as the median of its repeats and the limits of its 95 %
 * confidence interval. These are two of the repeats, so they hold for any
 * distribution; with fewer than six repeats they are the least and the greatest.
 */
#ifndef RTSCOPE_MATRIX_H
#define RTSCOPE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define MATRIX_LABEL_SIZE 24

struct matrix {
	const char *name;
	const char *unit;	/* of the values: ns, ratio, bytes_per_s */
	const char *of_columns; /* what their labels are, for people: bytes; NULL: names */
	bool has_repeats;	/* each of them too, in the order measured */
	unsigned int rows;
	unsigned int columns;
	unsigned int repeats;		  /* room for so many in each cell */
	char (*label)[MATRIX_LABEL_SIZE]; /* of the rows, then of the columns */
	uint32_t *count;
	double *sample;
};

/* Returns 0, or -1 where memory is short. A matrix is never freed. */
int matrix_init(struct matrix *matrix, const char *name, const char *unit, unsigned int rows,
		unsigned int columns, unsigned int repeats);

void matrix_label_row(struct matrix *matrix, unsigned int row, const char *text);
void matrix_label_column(struct matrix *matrix, unsigned int column, const char *text);

/* One more repeat of a cell; where there is no room it takes the place of the oldest. */
void matrix_add(struct matrix *matrix, unsigned int row, unsigned int column, double figure);

/* The repeats that are there. */
unsigned int matrix_count(const struct matrix *matrix, unsigned int row, unsigned int column);

/* Their median; 0 of none. No repeat is added afterwards. */
double matrix_median(struct matrix *matrix, unsigned int row, unsigned int column);

/* Of @count values, which are sorted by it; 0 of none. */
double median_of(double *figure, unsigned int count);

void matrix_write(struct matrix *matrix, struct json *json);

/* For people, within 80 columns where the shorter side of the matrix allows it. */
void matrix_print(FILE *out, struct matrix *matrix);

#endif
