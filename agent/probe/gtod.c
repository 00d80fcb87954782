// SPDX-License-Identifier: GPL-2.0-only
/*
 * gtod: the cost of reading a clock, and the clock's resolution.
 *
 * The IBM real-time tests' gtod_latency: pairs of readings, one right after the
 * other, on a thread of priority 99; the latency is the second less the first.
 * There it was gettimeofday(); here it is each clock that this machine offers,
 * one after the other on one CPU. All steps count, between pairs too: the
 * shortest is what a clock really resolves, and none may be backwards.
 *
 * The threads rest for 10 ms of every 100 ms, between two pairs: a real-time
 * thread that does not is stopped by the kernel's throttling or fair server for 50 ms
 * of every second, which would be the longest latency found, and one CPU may be all that
 * the machine has.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/options.h"
#include "proc/clock_sources.h"
#include "probe/probe.h"
#include "session/session.h"

#define RUN_NS	    (90 * NSEC_PER_MSEC)
#define REST_NS	    (10 * NSEC_PER_MSEC)
#define BATCHES	    64
#define BATCH_READS 256

struct series {
	struct clock_source source;
	unsigned int position; /* among the clocks of its CPU */
	sem_t turn;
};

static struct {
	const char *wanted; /* names joined by commas; NULL: all */
	struct clock_source source[CLOCK_SOURCES_MAX];
	unsigned int sources;
	struct series *series; /* one a thread */
} gtod;

static const struct option_spec options[] = {
	{ .name = "clock",
	  .kind = OPTION_TEXT,
	  .metavar = "LIST",
	  .silent = true,
	  .computed = "all",
	  .help = "Read these clocks only, such as gettimeofday,CLOCK_MONOTONIC",
	  .value = &gtod.wanted },
	{ 0 },
};

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" }, { "cpus", "first" }, { "priority", "99" },
	{ "interval", NULL },	      { "nsecs", "yes" },  { 0 },
};

static void describe(struct json *json)
{
	json_string(json, "clock", gtod.wanted ? gtod.wanted : "all");
}

static const struct clock_source *find(const char *name, size_t length)
{
	for (unsigned int i = 0; i < gtod.sources; i++) {
		if (strlen(gtod.source[i].name) == length &&
		    !memcmp(gtod.source[i].name, name, length))
			return &gtod.source[i];
	}
	return NULL;
}

static int refuse_clock(const char *name, size_t length, char *error, size_t error_size)
{
	char known[400] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < gtod.sources && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s %s", i ? "," : "",
					 gtod.source[i].name);
	return options_refuse(error, error_size, "clock", "--clock '%.*s' is not one of%s",
			      (int)(length < 100 ? length : 100), name, known);
}

/* Keep those sources that are wanted, in the order wanted. */
static int choose(char *error, size_t error_size)
{
	struct clock_source chosen[CLOCK_SOURCES_MAX];
	unsigned int count = 0;

	if (!gtod.wanted)
		return 0;
	for (const char *name = gtod.wanted;; name++) {
		size_t length = strcspn(name, ",");
		const struct clock_source *source = find(name, length);

		if (!source || count == CLOCK_SOURCES_MAX)
			return refuse_clock(name, length, error, error_size);
		chosen[count++] = *source;
		name += length;
		if (!*name)
			break;
	}
	memcpy(gtod.source, chosen, count * sizeof(chosen[0]));
	gtod.sources = count;
	return 0;
}

static void measure(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int threads;

	if (session->policy == POLICY_DEADLINE)
		return options_refuse(error, error_size, "policy",
				      "gtod does not sleep, which SCHED_DEADLINE does not grant: measure with --policy fifo or other");
	gtod.sources = clock_sources_find(gtod.source);
	if (choose(error, error_size))
		return -1;
	threads = cpus->count * gtod.sources;
	if (threads > ROLES_MAX) {
		return options_refuse(error, error_size, "cpus clock",
				      "%u clocks on %u CPUs are %u threads, and %u are possible: give fewer with --cpus or --clock",
				      gtod.sources, cpus->count, threads, ROLES_MAX);
	}
	gtod.series = calloc(threads, sizeof(*gtod.series));
	if (!gtod.series) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	for (unsigned int i = 0; i < threads; i++) {
		struct series *series = &gtod.series[i];

		series->position = i % gtod.sources;
		series->source = gtod.source[series->position];
		sem_init(&series->turn, 0, series->position == 0);
		roles[i] = (struct role){
			.name = series->source.name,
			.body = measure,
			.cpu = cpus->number[i / gtod.sources],
			.priority = session->priority,
			.spins = true,
		};
	}
	return (int)threads;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* One reading, as the median over batches of them: this thread's interruptions are in few. */
static double cost_ns(const struct clock_source *source)
{
	double batch_ns[BATCHES];
	struct timespec now;

	for (unsigned int batch = 0; batch < BATCHES; batch++) {
		uint64_t start_ns = clock_now_ns();

		for (unsigned int i = 0; i < BATCH_READS; i++)
			source->read(source->clock, &now);
		batch_ns[batch] = (double)(clock_now_ns() - start_ns) / BATCH_READS;
	}
	qsort(batch_ns, BATCHES, sizeof(batch_ns[0]), compare);
	return (batch_ns[BATCHES / 2 - 1] + batch_ns[BATCHES / 2]) / 2;
}

struct steps {
	int64_t shortest_ns; /* of those that are not 0 */
	uint64_t backwards;
};

static inline void steps_add(struct steps *steps, int64_t step_ns)
{
	if (step_ns > 0 && step_ns < steps->shortest_ns)
		steps->shortest_ns = step_ns;
	steps->backwards += step_ns < 0;
}

/* When the clocks after this one want their share of the duration. */
static uint64_t series_end_ns(const struct measuring *measuring, const struct series *series)
{
	uint64_t duration_ns = measuring->options->duration_ns;

	if (!duration_ns)
		return UINT64_MAX;
	return measuring->start_ns + duration_ns / gtod.sources * (series->position + 1);
}

static void measure_pairs(struct measuring *measuring, const struct series *series,
			  struct steps *steps)
{
	static const struct timespec rest = { .tv_nsec = REST_NS };
	const struct clock_source *source = &series->source;
	uint64_t end_ns = series_end_ns(measuring, series), now_ns, rest_ns;
	struct record *record = &measuring->record;
	struct timespec first, second, before;

	rest_ns = clock_now_ns() + RUN_NS;
	source->read(source->clock, &before);
	while (measuring_goes_on(measuring, now_ns = clock_now_ns())) {
		int64_t elapsed_ns;

		if (now_ns >= end_ns) {
			measuring->completed = true;
			return;
		}
		if (now_ns >= rest_ns) {
			nanosleep(&rest, NULL);
			rest_ns = clock_now_ns() + RUN_NS;
			continue;
		}
		source->read(source->clock, &first);
		source->read(source->clock, &second);
		elapsed_ns = clock_source_elapsed_ns(source, &first, &second);
		record_add(record, now_ns, now_ns + (uint64_t)elapsed_ns);
		steps_add(steps, clock_source_elapsed_ns(source, &before, &first));
		steps_add(steps, elapsed_ns);
		before = second;
		if (record->threshold_reached)
			return;
	}
}

static void measure_series(struct measuring *measuring, struct series *series)
{
	struct clock_source *source = &series->source;
	struct steps steps = { .shortest_ns = INT64_MAX };
	double read_ns;

	clock_source_calibrate(source);
	read_ns = cost_ns(source);
	measure_pairs(measuring, series, &steps);

	measuring_metric(measuring, "cost_ns", read_ns);
	measuring_metric(measuring, "resolution_ns", source->resolution_ns);
	if (steps.shortest_ns < INT64_MAX)
		measuring_metric(measuring, "step_ns", (double)steps.shortest_ns);
	measuring_metric(measuring, "backwards", (double)steps.backwards);
	if (source->answer != ANSWER_UNKNOWN)
		measuring_metric(measuring, "vdso", source->answer == ANSWER_USER);
	if (!source->unit_ns && source->tick_ns > 0)
		measuring_metric(measuring, "frequency_hz", NSEC_PER_SEC / source->tick_ns);
}

static void measure(struct measuring *measuring)
{
	struct series *series = &gtod.series[measuring->index];

	while (sem_wait(&series->turn)) {
		if (!record_get(measuring->control->until_ns))
			return;
	}
	if (!clock_sleep_until(measuring->start_ns))
		measure_series(measuring, series);
	if (series->position + 1 < gtod.sources)
		sem_post(&series[1].turn);
}

/* How many samples of @record fall into the microsecond from @first on; moves *@first past them. */
static uint64_t count_microsecond(const struct record *record, unsigned int *first, uint64_t us)
{
	uint64_t count = 0;

	while (*first < HISTOGRAM_BUCKETS && histogram_lower_ns(*first) < (us + 1) * NSEC_PER_USEC)
		count += histogram_count(record->histogram, (*first)++);
	return count;
}

static uint64_t next_sample_us(const struct measuring *measuring, unsigned int count,
			       unsigned int *first)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < count; i++) {
		const struct record *record = &measuring[i].record;

		while (first[i] < HISTOGRAM_BUCKETS &&
		       !histogram_count(record->histogram, first[i]))
			first[i]++;
		if (first[i] < HISTOGRAM_BUCKETS &&
		    histogram_lower_ns(first[i]) / NSEC_PER_USEC < next)
			next = histogram_lower_ns(first[i]) / NSEC_PER_USEC;
	}
	return next;
}

/* The table of the published reports: samples by microsecond, a column a clock. */
static void print(FILE *out, const struct measuring *measuring, unsigned int count)
{
	unsigned int *first = calloc(count, sizeof(*first));
	uint64_t us;

	if (!first)
		return;
	fprintf(out, "\n%-12s", "latency (us)");
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "      T:%2u", i);
	fprintf(out, "\n");
	while ((us = next_sample_us(measuring, count, first)) != UINT64_MAX) {
		fprintf(out, "%12llu", (unsigned long long)us);
		for (unsigned int i = 0; i < count; i++)
			fprintf(out, " %9llu",
				(unsigned long long)count_microsecond(&measuring[i].record,
								      &first[i], us));
		fprintf(out, "\n");
	}
	fprintf(out, "(rows without a sample are left out)\n\n");
	free(first);
}

static const char *const metrics[] = { "cost_ns", "resolution_ns", "step_ns", "backwards",
				       "vdso",	  "frequency_hz",  NULL };

const struct probe gtod_probe = {
	.name = "gtod",
	.summary = "how long reading the clock takes, and its resolution",
	.help = "Cost and resolution of the clocks: pairs of reads of each clock, the second minus the first (the\n"
		"IBM tests' gtod_latency).\n"
		"\n"
		"--samples counts pairs of each clock; the clocks share a --duration.\n",
	.examples = "  rtscope-agent gtod\n"
		    "  rtscope-agent gtod -a 0,4 --clock CLOCK_MONOTONIC,CLOCK_MONOTONIC:syscall\n",
	.options = options,
	.presets = presets,
	.samples = 1000000,
	.describe = describe,
	.metrics = metrics,
	.plan = plan,
	.print = print,
};
