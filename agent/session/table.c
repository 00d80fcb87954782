// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/table.h"

static void print_whose(FILE *out, const struct measuring *measuring)
{
	if (measuring->role.cpu >= 0)
		fprintf(out, " CPU:%d", measuring->role.cpu);
	if (*measuring->role.name)
		fprintf(out, " %s", measuring->role.name);
}

/* cyclictest's line, so that a person and a script find what they know. */
static void print_threads(const struct session *session)
{
	FILE *out = session->text;
	uint64_t unit = session->options.nanoseconds ? 1 : NSEC_PER_USEC;

	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];
		const struct record *record = &measuring->record;
		uint64_t count = record_get(record->count);

		if (measuring->role.silent)
			continue;
		fprintf(out,
			"T:%2u (%5d) P:%2u I:%llu C:%7llu Min:%7llu Act:%5llu Avg:%5llu Max:%8llu",
			i, measuring->tid, measuring->schedule.priority,
			(unsigned long long)(measuring->role.interval_ns / NSEC_PER_USEC),
			(unsigned long long)count,
			(unsigned long long)(count ? record_get(record->min_ns) / unit : 0),
			(unsigned long long)(record_get(record->last_ns) / unit),
			(unsigned long long)(record_mean_ns(record) / (double)unit),
			(unsigned long long)(record_get(record->max_ns) / unit));
		if (record_get(record->missed))
			fprintf(out, " Missed:%llu",
				(unsigned long long)record_get(record->missed));
		print_whose(out, measuring);
		fprintf(out, isatty(STDOUT_FILENO) ? "\033[K\n" : "\n");
	}
}

static void print_metrics(const struct session *session)
{
	FILE *out = session->text;

	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];

		if (!measuring->metric_count)
			continue;
		fprintf(out, "# T:%2u", i);
		print_whose(out, measuring);
		for (unsigned int metric = 0; metric < measuring->metric_count; metric++)
			fprintf(out, " %s:%.10g", measuring->metric[metric].key,
				measuring->metric[metric].value);
		fprintf(out, "\n");
	}
}

void table_draw(struct session *session)
{
	if (session->drawn)
		fprintf(session->text, "\033[%uA", session->rows);
	session->drawn = true;
	print_threads(session);
}

static void print_load(FILE *out, const struct session *session, unsigned int index,
		       const struct load_work *work, double seconds)
{
	fprintf(out, "load %s strength %u:", work->name, work->strength);
	for (unsigned int unit = 0; unit < work->units; unit++)
		fprintf(out, " %.1f %s/s",
			(double)(work->total[unit] - session->load_base[index][unit]) / seconds,
			work->unit[unit]);
	fprintf(out, "\n");
}

static void print_loads(const struct session *session, uint64_t end_ns)
{
	double seconds = (double)(end_ns - session->load_start_ns) / NSEC_PER_SEC;
	struct load_work work;

	for (unsigned int i = 0; i < load_set_size(session->loads); i++) {
		load_set_read(session->loads, i, &work);
		print_load(session->text, session, i, &work, seconds);
	}
}

void table_finish(struct session *session, uint64_t end_ns)
{
	if (session->drawn)
		fprintf(session->text, "\033[%uA", session->rows);
	print_threads(session);
	print_metrics(session);
	if (session->probe->print)
		session->probe->print(session->text, session->measuring, session->threads);
	print_loads(session, end_ns);
	idle_states_print(&session->options.idle, session->text);
}
