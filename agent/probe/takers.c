// SPDX-License-Identifier: GPL-2.0-only
/* A thread has the name that the kernel shows in /proc/PID/task/TID/comm: PROBE/INDEX. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/takers.h"

struct taker {
	char name[16];
	int tid;
	unsigned int priority;
	int cpu; /* -1: not pinned */
	uint64_t count;
};

__thread unsigned int event_taker;
static struct taker named[TAKERS_MAX];

void takers_name(unsigned int taker, const struct measuring *measuring)
{
	named[taker] = (struct taker){
		.tid = measuring->tid,
		.priority = measuring->schedule.priority,
		.cpu = measuring->role.cpu,
	};
	prctl(PR_GET_NAME, named[taker].name);
}

bool takers_note(struct takers *takers, struct measuring *measuring, uint64_t stamp_ns,
		 uint64_t taken_ns, unsigned int taker, int cpu)
{
	bool added;

	measuring->record.cpu = cpu;
	added = record_add(&measuring->record, stamp_ns, taken_ns);
	takers->violations += added && measuring->record.last_ns > takers->deadline_ns;
	takers->taken_by[taker]++;
	__atomic_store_n(&takers->noted, takers->noted + 1, __ATOMIC_RELEASE);
	return added;
}

void takers_tell(const struct takers *takers, struct measuring *measuring, unsigned int own,
		 uint64_t lost)
{
	const struct record *record = &measuring->record;
	unsigned int threads = 0;

	for (unsigned int taker = 0; taker < TAKERS_MAX; taker++)
		threads += takers->taken_by[taker] != 0;
	if (record->count)
		measuring_fact(measuring, "jitter_ns", (double)(record->max_ns - record->min_ns));
	measuring_fact(measuring, "deadline_violations", (double)takers->violations);
	measuring_fact(measuring, "lost", (double)lost);
	measuring_fact(measuring, "taken_by_own_thread", (double)takers->taken_by[own]);
	measuring_fact(measuring, "taken_by_others",
		       (double)(takers->noted - takers->taken_by[own]));
	measuring_fact(measuring, "threads_that_took", threads);
}

static struct taker taker_of(const struct takers *takers, unsigned int number)
{
	struct taker taker = named[number];

	if (!taker.tid)
		taker = (struct taker){ .name = "main", .tid = getpid(), .cpu = -1 };
	taker.count = takers->taken_by[number];
	return taker;
}

/* The one that took the @rank-th most, from 0. False where fewer took any. */
static bool ranked(const struct takers *takers, unsigned int rank, struct taker *taker)
{
	for (unsigned int number = 0; number < TAKERS_MAX; number++) {
		uint64_t count = takers->taken_by[number];
		unsigned int before = 0;

		for (unsigned int i = 0; i < TAKERS_MAX; i++)
			before += takers->taken_by[i] > count ||
				  (takers->taken_by[i] == count && i < number);
		if (count && before == rank) {
			*taker = taker_of(takers, number);
			return true;
		}
	}
	return false;
}

void takers_put(const struct takers *takers, struct json *json)
{
	struct taker taker;

	json_array_begin(json, "takers");
	for (unsigned int rank = 0; ranked(takers, rank, &taker); rank++) {
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

void takers_print(FILE *out, const struct takers *takers, const char *title)
{
	struct taker taker;

	for (unsigned int rank = 0; ranked(takers, rank, &taker); rank++) {
		if (!rank)
			fprintf(out, "\n%s, taken by\n", title);
		fprintf(out, "%-10s (%5d) P:%2u C:%7llu", taker.name, taker.tid, taker.priority,
			(unsigned long long)taker.count);
		if (taker.cpu >= 0)
			fprintf(out, " CPU:%d", taker.cpu);
		fprintf(out, "\n");
	}
}
