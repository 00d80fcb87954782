// SPDX-License-Identifier: GPL-2.0-only
/* A thread has the name that the kernel shows in /proc/PID/task/TID/comm: PROBE/INDEX. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/recipients.h"

struct recipient {
	char name[16];
	int tid;
	unsigned int priority;
	int cpu; /* -1: not pinned */
	uint64_t count;
};

__thread unsigned int event_recipient;
static struct recipient named[RECIPIENTS_MAX];

void recipients_name(unsigned int recipient, const struct measuring *measuring)
{
	named[recipient] = (struct recipient){
		.tid = measuring->tid,
		.priority = measuring->schedule.priority,
		.cpu = measuring->role.cpu,
	};
	prctl(PR_GET_NAME, named[recipient].name);
}

bool recipients_note(struct recipients *recipients, struct measuring *measuring, uint64_t stamp_ns,
		     uint64_t taken_ns, unsigned int recipient, int cpu)
{
	bool added;

	measuring->record.cpu = cpu;
	added = record_add(&measuring->record, stamp_ns, taken_ns);
	recipients->violations += added && measuring->record.last_ns > recipients->deadline_ns;
	recipients->taken_by[recipient]++;
	__atomic_store_n(&recipients->noted, recipients->noted + 1, __ATOMIC_RELEASE);
	return added;
}

void recipients_report(const struct recipients *recipients, struct measuring *measuring,
		       unsigned int own, uint64_t lost)
{
	const struct record *record = &measuring->record;
	unsigned int threads = 0;

	for (unsigned int recipient = 0; recipient < RECIPIENTS_MAX; recipient++)
		threads += recipients->taken_by[recipient] != 0;
	if (record->count)
		measuring_metric(measuring, "jitter_ns", (double)(record->max_ns - record->min_ns));
	measuring_metric(measuring, "deadline_violations", (double)recipients->violations);
	measuring_metric(measuring, "lost", (double)lost);
	measuring_metric(measuring, "taken_by_own_thread", (double)recipients->taken_by[own]);
	measuring_metric(measuring, "taken_by_others",
			 (double)(recipients->noted - recipients->taken_by[own]));
	measuring_metric(measuring, "threads_that_took", threads);
}

static struct recipient recipient_of(const struct recipients *recipients, unsigned int number)
{
	struct recipient recipient = named[number];

	if (!recipient.tid)
		recipient = (struct recipient){ .name = "main", .tid = getpid(), .cpu = -1 };
	recipient.count = recipients->taken_by[number];
	return recipient;
}

/* The one that took the @rank-th most, from 0. False where fewer took any. */
static bool ranked(const struct recipients *recipients, unsigned int rank,
		   struct recipient *recipient)
{
	for (unsigned int number = 0; number < RECIPIENTS_MAX; number++) {
		uint64_t count = recipients->taken_by[number];
		unsigned int before = 0;

		for (unsigned int i = 0; i < RECIPIENTS_MAX; i++)
			before += recipients->taken_by[i] > count ||
				  (recipients->taken_by[i] == count && i < number);
		if (count && before == rank) {
			*recipient = recipient_of(recipients, number);
			return true;
		}
	}
	return false;
}

void recipients_put(const struct recipients *recipients, struct json *json)
{
	struct recipient recipient;

	json_array_begin(json, "takers");
	for (unsigned int rank = 0; ranked(recipients, rank, &recipient); rank++) {
		json_object_begin(json, NULL);
		json_string(json, "name", recipient.name);
		json_i64(json, "tid", recipient.tid);
		json_u64(json, "priority", recipient.priority);
		json_cpu(json, recipient.cpu);
		json_u64(json, "count", recipient.count);
		json_object_end(json);
	}
	json_array_end(json);
}

void recipients_print(FILE *out, const struct recipients *recipients, const char *title)
{
	struct recipient recipient;

	for (unsigned int rank = 0; ranked(recipients, rank, &recipient); rank++) {
		if (!rank)
			fprintf(out, "\n%s, taken by\n", title);
		fprintf(out, "%-10s (%5d) P:%2u C:%7llu", recipient.name, recipient.tid,
			recipient.priority, (unsigned long long)recipient.count);
		if (recipient.cpu >= 0)
			fprintf(out, " CPU:%d", recipient.cpu);
		fprintf(out, "\n");
	}
}
