// SPDX-License-Identifier: GPL-2.0-only
/* A thread is named as the kernel shows it in /proc/PID/task/TID/comm: PROBE/INDEX. */
#include <stdio.h>
#include <unistd.h>

#include "probe/signal_takers.h"

static const struct measuring *named[EVENT_TAKERS];

struct taker {
	char name[24];
	int tid;
	unsigned int priority;
	int cpu; /* -1: not pinned */
	uint64_t count;
};

void takers_name(unsigned int taker, const struct measuring *measuring)
{
	named[taker] = measuring;
}

static struct taker taker_of(const struct events *events, unsigned int number)
{
	const struct measuring *measuring = named[number];
	struct taker taker = {
		.name = "main",
		.tid = getpid(),
		.cpu = -1,
		.count = events->taken_by[number],
	};

	if (!measuring)
		return taker;
	snprintf(taker.name, sizeof(taker.name), "signal/%u", measuring->index);
	taker.tid = measuring->tid;
	taker.priority = measuring->schedule.priority;
	taker.cpu = measuring->role.cpu;
	return taker;
}

/* The one that took the @rank-th most, from 0. False where fewer took any. */
static bool ranked(const struct events *events, unsigned int rank, struct taker *taker)
{
	for (unsigned int number = 0; number < EVENT_TAKERS; number++) {
		uint64_t count = events->taken_by[number];
		unsigned int before = 0;

		for (unsigned int i = 0; i < EVENT_TAKERS; i++)
			before += events->taken_by[i] > count ||
				  (events->taken_by[i] == count && i < number);
		if (count && before == rank) {
			*taker = taker_of(events, number);
			return true;
		}
	}
	return false;
}

void takers_put(const struct events *events, struct json *json)
{
	struct taker taker;

	json_array_begin(json, "takers");
	for (unsigned int rank = 0; ranked(events, rank, &taker); rank++) {
		json_object_begin(json, NULL);
		json_string(json, "name", taker.name);
		json_i64(json, "tid", taker.tid);
		json_u64(json, "priority", taker.priority);
		json_cpu(json, taker.cpu);
		json_u64(json, "count", taker.count);
		json_object_end(json);
	}
	json_array_end(json);
}

void takers_print(const struct events *events, const char *title)
{
	struct taker taker;

	for (unsigned int rank = 0; ranked(events, rank, &taker); rank++) {
		if (!rank)
			printf("\n%s, taken by\n", title);
		printf("%-10s (%5d) P:%2u C:%7llu", taker.name, taker.tid, taker.priority,
		       (unsigned long long)taker.count);
		if (taker.cpu >= 0)
			printf(" CPU:%d", taker.cpu);
		printf("\n");
	}
}
