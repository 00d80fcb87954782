/* SPDX-License-Identifier: GPL-2.0-only */
/* What memory measures, repeat after repeat. */
#ifndef RTSCOPE_MEMORY_SERIES_H
#define RTSCOPE_MEMORY_SERIES_H

#include <stddef.h>

#include "base/matrix.h"
#include "probe/workers.h"

#define SERIES_CPUS    256
#define SERIES_SIZES   64
#define SERIES_PLACES  3
#define SERIES_VICTIMS 5

/* CPUs that work at once, as indices of workers. */
struct place {
	char name[MATRIX_LABEL_SIZE];
	unsigned int count;
	unsigned int member[SERIES_CPUS];
};

struct series {
	uint64_t slot_ns;
	bool partitions; /* try those of resctrl, too */
	size_t huge;	 /* bytes of a page where the sets lie in huge ones; 0: in ordinary ones */
	unsigned int cpus;
	unsigned int places; /* the last one is all CPUs */
	struct place place[SERIES_PLACES];
	unsigned int sizes;
	size_t size[SERIES_SIZES]; /* bytes, ascending, multiples of 4096, the last of 8192 */
	unsigned int victims;
	size_t victim_size[SERIES_VICTIMS];
	char victim_name[SERIES_VICTIMS][MATRIX_LABEL_SIZE];
};

/* Room for all metrics of @series, which has to stay; 0, or -1 where memory is short. */
int series_init(const struct series *series, unsigned int repeats);

/* The coordinator's body: measures until there are repeats enough, or time is over. */
void series_conduct(struct measuring *measuring);

void series_write(struct json *json);
void series_print(FILE *out, const struct measuring *measuring, unsigned int count);

#endif
