// SPDX-License-Identifier: GPL-2.0-only
/*
 * scaling: how long a parallel algorithm takes for each of its periods.
 *
 * One thread computes the serial part of a period's work alone, lets the others
 * go, computes its share together with theirs and waits for the last of them; the
 * latency recorded is the time from the first item to that. An item looks up
 * random places of a table, which may be larger than any cache, does arithmetic in
 * registers and stores a result. It is the same work for any number of threads,
 * so one run on each set of CPUs shows how the algorithm scales there.
 *
 * The threads wait for each other by futex, as programs do, and not by spinning:
 * two of them on one CPU are a placement that has to be measured too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/futex.h"
#include "base/options.h"
#include "probe/probe.h"
#include "probe/work.h"
#include "session/session.h"

#define INTERVAL_NS   (10 * NSEC_PER_MSEC)
#define ITEMS	      2000
#define ITEMS_MAX     100000000
#define LOOKUPS	      8
#define STEPS	      64
#define TABLE_BYTES   (16 << 10)
#define TABLE_MAX     (1ULL << 34)
#define THREADS_TOP   ROLES_MAX
#define GOLDEN_RATIO  0x9e3779b97f4a7c15ULL
#define RANDOM_FACTOR 0x5851f42d4c957f2dULL

static struct {
	bool vector;
	uint64_t parallel_percent;
	uint64_t table_bytes;
	uint64_t items;
	uint64_t threads; /* 0: one for each CPU */
	work_fn *work;
	const uint64_t *table;
	uint64_t *results;
} scaling = {
	.parallel_percent = 95,
	.table_bytes = TABLE_BYTES,
	.items = ITEMS,
};

/* Messages between the threads; each word is a futex with its own cache line. */
static struct {
	_Alignas(64) uint32_t period; /* the one to be computed */
	_Alignas(64) uint32_t left;   /* shares of it that are not done */
} team;

static bool parse_size(const char *text, void *value)
{
	uint64_t *bytes = value;
	char number[16] = "";
	size_t length = strspn(text, "0123456789");
	unsigned int shift = 0;

	if (length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	if (text[length])
		shift = text[length] == 'K' ? 10 : text[length] == 'M' ? 20 : 30;
	if (text[length] && (!strchr("KMG", text[length]) || text[length + 1]))
		return false;
	if (!option_number(number, TABLE_MAX >> shift, bytes))
		return false;
	*bytes <<= shift;
	return *bytes >= sizeof(uint64_t);
}

static const char *const forms[] = { "scalar", "vector", NULL };

static const struct option_spec options[] = {
	{ .name = "form",
	  .kind = OPTION_EITHER,
	  .choices = forms,
	  .metavar = "FORM",
	  .preset = "scalar",
	  .help = "Compute by scalar or by vector units",
	  .value = &scaling.vector },
	{ .name = "parallel",
	  .kind = OPTION_NUMBER,
	  .metavar = "PERCENT",
	  .unit = "percent",
	  .max = 100,
	  .preset = "95",
	  .help = "Share of the work that is divided among the threads",
	  .value = &scaling.parallel_percent },
	{ .name = "table",
	  .kind = OPTION_PARSED,
	  .metavar = "SIZE",
	  .preset = "16K",
	  .wanted = "a size from 8 bytes to 16G, such as 64M",
	  .help = "Size of the look-up table in bytes, or with K, M or G",
	  .parse = parse_size,
	  .value = &scaling.table_bytes },
	{ .name = "items",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = ITEMS_MAX,
	  .preset = "2000",
	  .help = "Items of work in a period",
	  .value = &scaling.items },
	{ .name = "threads",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = THREADS_TOP,
	  .computed = "one per CPU",
	  .help = "Number of threads, spread over the CPUs in turn",
	  .value = &scaling.threads },
	{ 0 },
};

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "interval", "10ms" },
	{ 0 },
};

static void lead(struct measuring *measuring);
static void follow(struct measuring *measuring);

static int allocate(char *error, size_t error_size)
{
	uint64_t entries = scaling.table_bytes / sizeof(uint64_t);
	uint64_t *table = malloc(entries * sizeof(*table));

	scaling.results = calloc(scaling.items, sizeof(*scaling.results));
	if (!table || !scaling.results) {
		return options_refuse(error, error_size, "table",
				      "there is no memory for a table of %llu bytes: give a smaller --table",
				      (unsigned long long)scaling.table_bytes);
	}
	for (uint64_t i = 0; i < entries; i++)
		table[i] = i * GOLDEN_RATIO;
	scaling.table = table;
	return 0;
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	if (session->policy == POLICY_DEADLINE)
		return options_refuse(error, error_size, "policy",
				      "scaling measures CPUs, to which SCHED_DEADLINE pins no thread: use --policy fifo or other");
	if (scaling.vector && !work_vector_name())
		return options_refuse(error, error_size, "form",
				      "this CPU has no vector unit that the agent can use: measure with --form scalar");
	if (!scaling.threads)
		scaling.threads = cpus->count;
	scaling.work = scaling.vector ? work_vector : work_scalar;
	if (!session->dry_run && allocate(error, error_size))
		return -1;
	for (unsigned int i = 0; i < scaling.threads; i++)
		roles[i] = (struct role){
			.name = "",
			.body = i ? follow : lead,
			.cpu = cpus->number[i % cpus->count],
			.priority = session->priority,
			.interval_ns = session->interval_ns,
			.silent = i > 0,
		};
	return (int)scaling.threads;
}

/* A new place of the table for each item and period, the same on every machine. */
static void compute(uint32_t period, uint64_t from, uint64_t to)
{
	uint64_t entries = scaling.table_bytes / sizeof(uint64_t);

	for (uint64_t item = from; item < to; item++) {
		uint64_t random = (item + period * (uint64_t)ITEMS_MAX) * GOLDEN_RATIO, sum = 0;

		for (unsigned int i = 0; i < LOOKUPS; i++) {
			random = random * RANDOM_FACTOR + 1;
			sum += scaling.table[((random >> 32) * entries) >> 32];
		}
		scaling.work(STEPS);
		scaling.results[item] = sum;
	}
}

static uint64_t serial_items(void)
{
	return scaling.items - scaling.items * scaling.parallel_percent / 100;
}

static void compute_share(uint32_t period, unsigned int thread)
{
	uint64_t serial = serial_items(), parallel = scaling.items - serial;

	compute(period, serial + parallel * thread / scaling.threads,
		serial + parallel * (thread + 1) / scaling.threads);
}

static void follow(struct measuring *measuring)
{
	uint32_t done = 0, period;

	while (record_get(measuring->control->until_ns)) {
		period = __atomic_load_n(&team.period, __ATOMIC_ACQUIRE);
		if (period == done) {
			futex_sleep(&team.period, done);
			continue;
		}
		compute_share(period, measuring->index);
		done = period;
		if (!__atomic_sub_fetch(&team.left, 1, __ATOMIC_ACQ_REL))
			futex_wake_all(&team.left);
	}
}

struct parts {
	uint64_t serial_ns;
	uint64_t share_ns;
	uint64_t wait_ns;
};

/* Returns when the period was done, 0 where the run was over before. */
static uint64_t compute_period(struct measuring *measuring, uint32_t period, uint64_t start_ns,
			       struct parts *parts)
{
	uint64_t serial_end_ns, share_end_ns, end_ns;
	uint32_t left;

	compute(period, 0, serial_items());
	serial_end_ns = clock_now_ns();
	if (scaling.threads > 1) {
		__atomic_store_n(&team.left, (uint32_t)scaling.threads - 1, __ATOMIC_RELAXED);
		__atomic_store_n(&team.period, period, __ATOMIC_RELEASE);
		futex_wake_all(&team.period);
	}
	compute_share(period, 0);
	share_end_ns = clock_now_ns();
	while ((left = __atomic_load_n(&team.left, __ATOMIC_ACQUIRE))) {
		if (!record_get(measuring->control->until_ns))
			return 0;
		futex_sleep(&team.left, left);
	}
	end_ns = clock_now_ns();
	parts->serial_ns += serial_end_ns - start_ns;
	parts->share_ns += share_end_ns - serial_end_ns;
	parts->wait_ns += end_ns - share_end_ns;
	return end_ns;
}

/* The first deadline after @now_ns; those before it are missed. */
static uint64_t next_due_ns(struct measuring *measuring, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t interval_ns = measuring->role.interval_ns, passed;

	due_ns += interval_ns;
	if (due_ns > now_ns)
		return due_ns;
	passed = (now_ns - due_ns) / interval_ns + 1;
	record_set(measuring->record.missed, measuring->record.missed + passed);
	return due_ns + passed * interval_ns;
}

static void report_parts(struct measuring *measuring, const struct parts *parts)
{
	double count = (double)measuring->record.count;

	if (!measuring->record.count)
		return;
	measuring_metric(measuring, "serial_ns", (double)parts->serial_ns / count);
	measuring_metric(measuring, "share_ns", (double)parts->share_ns / count);
	measuring_metric(measuring, "wait_ns", (double)parts->wait_ns / count);
}

static void lead(struct measuring *measuring)
{
	uint64_t due_ns = measuring->start_ns, start_ns, end_ns;
	struct record *record = &measuring->record;
	struct parts parts = { 0 };
	uint32_t period = 0;

	while (measuring_goes_on(measuring, due_ns) && !record->threshold_reached) {
		if (clock_sleep_until(due_ns))
			continue;
		start_ns = clock_now_ns();
		end_ns = compute_period(measuring, ++period, start_ns, &parts);
		if (!end_ns)
			break;
		record_add(record, start_ns, end_ns);
		due_ns = next_due_ns(measuring, due_ns, end_ns);
	}
	report_parts(measuring, &parts);
}

static const char *const metrics[] = { "serial_ns", "share_ns", "wait_ns", NULL };

static void describe(struct json *json)
{
	if (scaling.vector)
		json_string(json, "unit", work_vector_name());
	json_u64(json, "table_bytes", scaling.table_bytes);
}

const struct probe scaling_probe = {
	.name = "scaling",
	.summary = "how long a parallel algorithm takes on some CPUs",
	.help = "Execution time of a parallel algorithm in each period, on the given CPUs: a serial part, then the\n"
		"rest divided among one thread per CPU, until the last thread has finished its share.\n"
		"\n"
		"--interval has to leave room for the work.\n",
	.examples =
		"  rtscope-agent scaling -a 0 -D 5s                on one CPU\n"
		"  rtscope-agent scaling -a 0,2,4,6 --form vector -D 5s\n"
		"  rtscope-agent scaling -a 0 --threads 2 -D 5s    two threads take turns on one CPU\n",
	.options = options,
	.presets = presets,
	.describe = describe,
	.metrics = metrics,
	.plan = plan,
};
