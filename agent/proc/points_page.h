/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measurement points of another process.
 *
 * A user who may read a process may read its points, without stopping it and
 * without its help. The content of its memory is not trusted: sizes are limited
 * to the file, names are terminated, and impossible values are reported as such.
 */
#ifndef RTSCOPE_POINTS_PAGE_H
#define RTSCOPE_POINTS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rtscope/points.h"

#define POINTS_PAGES_MAX 16 /* a program's own, and one of each plugin with a copy of its own */

struct points_page {
	struct rtscope_points_page *memory;
	int fd;
	ino_t inode;
	char link[32]; /* fd/7, below the process's directory */
};

struct points_target {
	int directory; /* /proc/PID: stays that process's when another gets its number */
	char name[64];
	unsigned int count;
	struct points_page page[POINTS_PAGES_MAX];
};

struct point_reading {
	char name[RTSCOPE_NAME_SIZE];
	char text[RTSCOPE_TEXT_SIZE];
	bool enabled;
	int parent;	    /* index in its page, or -1 */
	uint64_t budget_ns; /* or RTSCOPE_NO_BUDGET */
	uint64_t count;
	uint64_t last_ns; /* this and what follows: of count samples, where there is one */
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t over_budget;
	double mean_ns;
	uint64_t bucket[RTSCOPE_BUCKETS];
};

/*
 * Find the points of process @pid; @writable where they are to be switched or
 * reset. Returns 0, or -1 with a sentence in @error. A page that is left out
 * although others could be read leaves its sentence in @error too, else empty.
 */
int points_open(struct points_target *target, pid_t pid, bool writable, char *error,
		size_t error_size);

/* Whether the process still runs. */
bool points_alive(const struct points_target *target);

/* Whether the process still holds @page: not where it began another program. */
bool points_held(const struct points_target *target, const struct points_page *page);

/* Return how many points of @page can be read. */
unsigned int points_count(const struct points_page *page);

/* Read point @index of @page. Returns NULL, or why its values are impossible and left out. */
const char *points_read(const struct points_page *page, unsigned int index,
			struct point_reading *reading);

uint64_t point_bucket_lower_ns(unsigned int index);
uint64_t point_bucket_width_ns(unsigned int index);

/* The time that at most @above samples exceed, to the bucket; @reading has samples. */
uint64_t point_tail_ns(const struct point_reading *reading, uint64_t above);

#endif
