// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu: mixed integer and floating-point work that stays in the first cache, so
 * that what it costs a measurement is the CPU itself: its pipelines, its
 * frequency and its sibling thread.
 */
#include "load/worker.h"

#define MATRIX	24
#define NUMBERS 256

struct cpu_state {
	double a[MATRIX][MATRIX], b[MATRIX][MATRIX], product[MATRIX][MATRIX];
	uint32_t number[NUMBERS];
};

static double random_double(struct worker *worker)
{
	return (double)(int32_t)worker_random_below(worker, 1000000) / 1000000.0;
}

static int setup(struct worker *worker)
{
	struct cpu_state *state = worker_alloc(worker, sizeof(*state));

	if (!state)
		return -1;
	for (int row = 0; row < MATRIX; row++) {
		for (int column = 0; column < MATRIX; column++)
			state->b[row][column] = random_double(worker);
	}
	worker->state = state;
	return 0;
}

static void multiply_matrices(struct worker *worker, struct cpu_state *state)
{
	double trace = 0;

	for (int row = 0; row < MATRIX; row++) {
		for (int column = 0; column < MATRIX; column++)
			state->a[row][column] = random_double(worker);
	}
	for (int row = 0; row < MATRIX; row++) {
		for (int column = 0; column < MATRIX; column++) {
			double sum = 0;

			for (int i = 0; i < MATRIX; i++)
				sum += state->a[row][i] * state->b[i][column];
			state->product[row][column] = sum / (1.0 + sum);
		}
		trace += state->product[row][row];
	}
	worker_fold(worker, (uint64_t)(int64_t)(trace * 1e9));
}

/* Branches that no predictor knows: an insertion sort of random numbers. */
static void sort_numbers(struct worker *worker, struct cpu_state *state)
{
	for (int i = 0; i < NUMBERS; i++)
		state->number[i] = (uint32_t)worker_random(worker);
	for (int i = 1; i < NUMBERS; i++) {
		uint32_t number = state->number[i];
		int at = i;

		for (; at > 0 && state->number[at - 1] > number; at--)
			state->number[at] = state->number[at - 1];
		state->number[at] = number;
	}
	worker_fold(worker, state->number[NUMBERS / 2]);
}

static void divide_numbers(struct worker *worker)
{
	uint64_t sum = 0;

	for (int i = 0; i < 1024; i++) {
		uint64_t dividend = worker_random(worker);
		uint32_t divisor = (uint32_t)worker_random(worker) | 1;

		sum += dividend / divisor + (dividend % divisor << (i & 15));
	}
	worker_fold(worker, sum);
}

static int step(struct worker *worker)
{
	multiply_matrices(worker, worker->state);
	sort_numbers(worker, worker->state);
	divide_numbers(worker);
	worker_count(worker, 0, 1);
	return 0;
}

const struct load load_cpu = {
	.name = "cpu",
	.help = "integer and floating-point work in the first cache",
	.unit = { "iterations" },
	.setup = setup,
	.step = step,
};
