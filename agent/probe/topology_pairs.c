// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each pair of CPUs compared, repeat after repeat: the coordinator of topology's workers.
 *
 * A CPU's slowdown is what it did a second with the other one held, over what it
 * did while the other one worked too. Its speed in a repeat is the middle of what it did
 * with each other one held.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "probe/topology_pairs.h"
#include "probe/topology_work.h"

#define SPEEDS (KIND_VECTOR + 1) /* the kinds of work that need nothing but the CPU come first */

static struct {
	uint64_t slot_ns;
	unsigned int cpus;
	unsigned int repeats;
	struct matrix message, awake;
	struct matrix slowdown[KINDS];
	struct matrix alone[KINDS]; /* work per second with a held CPU; one column */
	struct matrix speed;	    /* the same by repeats; a column for each kind */
	double *of_repeat;	    /* messages of a CPU in this repeat: cpus of each */
} pairs;

const char *const pairs_metrics[] = {
	"scalar_operations_per_s",
	"vector_operations_per_s",
	"l1_load_ns",
	"l2_load_ns",
	"l3_load_ns",
	"memory_read_bytes_per_s",
	NULL,
};

static int make_square(struct matrix *matrix, const char *name, const char *unit,
		       const struct cpus *cpus)
{
	char label[MATRIX_LABEL_SIZE];

	if (matrix_init(matrix, name, unit, cpus->count, cpus->count, pairs.repeats))
		return -1;
	matrix->has_repeats = true;
	for (unsigned int i = 0; i < cpus->count; i++) {
		snprintf(label, sizeof(label), "CPU %u", cpus->number[i]);
		matrix_label_row(matrix, i, label);
		matrix_label_column(matrix, i, label);
	}
	return 0;
}

static int make_speed(const struct cpus *cpus)
{
	unsigned int kinds = kind_is_measured(KIND_VECTOR) ? SPEEDS : SPEEDS - 1;
	char label[MATRIX_LABEL_SIZE];

	if (matrix_init(&pairs.speed, "speed", "operations_per_s", cpus->count, kinds,
			pairs.repeats))
		return -1;
	pairs.speed.has_repeats = true;
	for (unsigned int i = 0; i < cpus->count; i++) {
		snprintf(label, sizeof(label), "CPU %u", cpus->number[i]);
		matrix_label_row(&pairs.speed, i, label);
	}
	for (unsigned int kind = 0; kind < kinds; kind++)
		matrix_label_column(&pairs.speed, kind, kind_names[kind]);
	return 0;
}

int pairs_init(const struct cpus *cpus, unsigned int repeats, uint64_t slot_ns)
{
	unsigned int partners = cpus->count > 1 ? cpus->count - 1 : 1;
	int result;

	pairs.cpus = cpus->count;
	pairs.repeats = repeats;
	pairs.slot_ns = slot_ns;
	result = make_square(&pairs.message, "message", "ns", cpus) |
		 make_square(&pairs.awake, "awake", "ratio", cpus) | make_speed(cpus);
	for (enum kind kind = 0; kind < KINDS; kind++)
		result |= make_square(&pairs.slowdown[kind], kind_names[kind], "ratio", cpus) |
			  matrix_init(&pairs.alone[kind], kind_names[kind], "per_s", cpus->count, 1,
				      pairs.repeats * partners);
	pairs.of_repeat = calloc((size_t)cpus->count * cpus->count, sizeof(double));
	return result || !pairs.of_repeat ? -1 : 0;
}

/* The pair's rates while @first and @second are their jobs. */
static bool work_together(const unsigned int pair[2], struct job first, struct job second,
			  double rate[2])
{
	workers_member(pair[0])->job = first;
	workers_member(pair[1])->job = second;
	if (!workers_work(pair, 2, pairs.slot_ns))
		return false;
	rate[0] = workers_rate(pair[0]);
	rate[1] = workers_rate(pair[1]);
	return true;
}

static bool work_alone(unsigned int index, enum kind kind, unsigned int side, double *rate)
{
	workers_member(index)->job = kind_job(kind, side);
	if (!workers_work(&index, 1, pairs.slot_ns))
		return false;
	*rate = workers_rate(index);
	return true;
}

static void add_both(struct matrix *matrix, const unsigned int pair[2], const double figure[2])
{
	matrix_add(matrix, pair[0], pair[1], figure[0]);
	matrix_add(matrix, pair[1], pair[0], figure[1]);
}

static bool compare_kind(const unsigned int pair[2], enum kind kind)
{
	struct job job[2] = { kind_job(kind, 0), kind_job(kind, 1) };
	double held[2][2], together[2], free[2];

	if (!work_together(pair, job[0], workers_hold, held[0]) ||
	    !work_together(pair, job[0], job[1], together) ||
	    !work_together(pair, workers_hold, job[1], held[1]))
		return false;
	matrix_add(&pairs.alone[kind], pair[0], 0, held[0][0]);
	matrix_add(&pairs.alone[kind], pair[1], 0, held[1][1]);
	add_both(&pairs.slowdown[kind], pair,
		 (double[]){ held[0][0] / together[0], held[1][1] / together[1] });
	if (kind != KIND_SCALAR)
		return true;
	if (!work_alone(pair[0], kind, 0, &free[0]) || !work_alone(pair[1], kind, 1, &free[1]))
		return false;
	add_both(&pairs.awake, pair, (double[]){ free[0] / held[0][0], free[1] / held[1][1] });
	return true;
}

static bool exchange_messages(const unsigned int pair[2])
{
	double rate[2], ns;

	if (!work_together(pair, message_job(0), message_job(1), rate))
		return false;
	ns = message_ns();
	if (ns > 0) {
		add_both(&pairs.message, pair, (double[]){ ns, ns });
		pairs.of_repeat[pair[0] * pairs.cpus + pair[1]] = ns;
		pairs.of_repeat[pair[1] * pairs.cpus + pair[0]] = ns;
	}
	return true;
}

static bool compare_pair(const unsigned int pair[2])
{
	if (!exchange_messages(pair))
		return false;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind) && !compare_kind(pair, kind))
			return false;
	}
	return true;
}

/* One CPU has nobody to be compared with: what it does alone is all there is. */
static bool measure_lone(void)
{
	double rate;

	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (!kind_is_measured(kind))
			continue;
		if (!work_alone(0, kind, 0, &rate))
			return false;
		matrix_add(&pairs.alone[kind], 0, 0, rate);
	}
	return true;
}

/* The one sample of each CPU in a repeat: how long its messages took, in the middle. */
static void record_messages(void)
{
	for (unsigned int i = 0; i < pairs.cpus; i++) {
		struct measuring *measuring = workers_member(i)->measuring;
		double *row = pairs.of_repeat + (size_t)i * pairs.cpus, ns;
		uint64_t now_ns = clock_now_ns();

		row[i] = pairs.cpus > 1 ? row[(i + 1) % pairs.cpus] : 0;
		ns = median_of(row, pairs.cpus);
		if (ns > 0)
			record_add(&measuring->record, now_ns - (uint64_t)ns, now_ns);
	}
}

/* Of the @count values of a row that came last. */
static double middle_of_last(const struct matrix *matrix, unsigned int row, unsigned int count)
{
	const double *sample = matrix->sample + (size_t)row * matrix->repeats;
	uint32_t first = matrix->count[row] - count;

	for (uint32_t i = 0; i < count; i++)
		pairs.of_repeat[i] = sample[(first + i) % matrix->repeats];
	return median_of(pairs.of_repeat, count);
}

static void record_speeds(void)
{
	unsigned int turns = pairs.cpus > 1 ? pairs.cpus - 1 : 1;

	for (unsigned int i = 0; i < pairs.cpus; i++) {
		for (unsigned int kind = 0; kind < pairs.speed.columns; kind++)
			matrix_add(&pairs.speed, i, kind,
				   middle_of_last(&pairs.alone[kind], i, turns));
	}
}

static bool measure_pairs(void)
{
	for (unsigned int i = 0; i < pairs.cpus; i++) {
		for (unsigned int j = i + 1; j < pairs.cpus; j++) {
			if (!compare_pair((unsigned int[]){ i, j }))
				return false;
		}
	}
	return true;
}

static bool do_repeat(void)
{
	memset(pairs.of_repeat, 0, sizeof(double) * pairs.cpus * pairs.cpus);
	if (!(pairs.cpus == 1 ? measure_lone() : measure_pairs()))
		return false;
	if (pairs.cpus > 1)
		record_messages();
	record_speeds();
	return true;
}

/* Each CPU is both sides once, so that all memory is there before anything is counted. */
static bool map_memory(void)
{
	double rate;

	for (unsigned int i = 0; i < pairs.cpus; i++) {
		for (unsigned int side = 0; side < 2; side++) {
			if (!work_alone(i, KIND_MEMORY, side, &rate))
				return false;
		}
	}
	return true;
}

static void report_alone(void)
{
	static const char *const keys[KINDS] = {
		"scalar_operations_per_s",
		"vector_operations_per_s",
		"l1_load_ns",
		"l2_load_ns",
		"l3_load_ns",
		"memory_read_bytes_per_s",
	};

	for (unsigned int i = 0; i < pairs.cpus; i++) {
		for (enum kind kind = 0; kind < KINDS; kind++) {
			double rate = matrix_median(&pairs.alone[kind], i, 0);
			bool load = kind >= KIND_L1 && kind <= KIND_L3;

			if (rate > 0)
				measuring_metric(workers_member(i)->measuring, keys[kind],
						 load ? NSEC_PER_SEC / rate : rate);
		}
	}
}

/* However short the time that was asked for, each pair is compared once. */
void pairs_conduct(struct measuring *measuring)
{
	uint64_t repeat = 0;

	workers_lead(measuring);
	if (!clock_sleep_until(measuring->start_ns) && map_memory()) {
		while (do_repeat() && ++repeat < measuring->samples &&
		       measuring_goes_on(measuring, clock_now_ns()))
			;
	}
	measuring->completed |= repeat == measuring->samples;
	report_alone();
	workers_dismiss(measuring->completed);
}

void pairs_write(struct json *json)
{
	if (!kinds_had_memory())
		session_warn("little-memory",
			     "there was no memory for the working sets, so what CPUs share of caches and memory was not measured");
	matrix_write(&pairs.speed, json);
	matrix_write(&pairs.message, json);
	matrix_write(&pairs.awake, json);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind))
			matrix_write(&pairs.slowdown[kind], json);
	}
}

void pairs_print(FILE *out, const struct measuring *measuring, unsigned int count)
{
	(void)measuring;
	(void)count;
	matrix_print(out, &pairs.speed);
	matrix_print(out, &pairs.message);
	matrix_print(out, &pairs.awake);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind))
			matrix_print(out, &pairs.slowdown[kind]);
	}
}
