// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory: latency and bandwidth of memory, and disturbances between CPUs.
 *
 * For working sets from a page to twice the last cache: how long a load takes
 * that waits for the one before, at random places, and how much is read, written
 * and copied; by one CPU, by the threads of its core, by all CPUs at once. Where
 * the sets outgrow a cache the curves bend.
 *
 * Then a victim on the first CPU loads from each cache and from memory while the
 * other CPUs do the worst they can, one kind of it at a time: how much longer its
 * loads take than with CPUs that are awake but idle.
 *
 * Pages are ordinary ones by default. All is repeated in turn, so that
 * what changes with time changes all of it. A sample is one repeat's load from the
 * largest set.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "proc/file.h"
#include "base/options.h"
#include "proc/caches.h"
#include "probe/memory_series.h"
#include "probe/partitions.h"
#include "probe/probe.h"
#include "probe/reach.h"

#define SLOT_NS		(4 * NSEC_PER_MSEC)
#define REPEATS		6 /* the fewest that have 95 % limits of a median */
#define SMALLEST	4096UL
#define GRAIN		8192UL
#define LARGEST_MIN	(8UL * 1024 * 1024)
#define LARGEST_UNKNOWN (32UL * 1024 * 1024)
#define LEVELS		3
#define SIBLINGS_FILE	"/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list"

static struct {
	uint64_t largest_mib; /* 0: not given */
	uint64_t largest;     /* bytes */
	bool huge;	      /* pages */
	struct cpus cpus;
	struct series series;
} memory;

static const char *const pages[] = { "ordinary", "huge", NULL };
static const char *const partitions[] = { "none", "try", NULL };

static const struct option_spec options[] = {
	WORKERS_SLOT("4ms", memory.series.slot_ns),
	{ .name = "largest",
	  .kind = OPTION_NUMBER,
	  .metavar = "MIB",
	  .unit = "MiB",
	  .min = 1,
	  .max = 1 << 20,
	  .silent = true,
	  .computed = "twice the last cache, at least 8",
	  .help = "Largest working set in MiB",
	  .value = &memory.largest_mib },
	{ .name = "pages",
	  .kind = OPTION_EITHER,
	  .choices = pages,
	  .metavar = "PAGES",
	  .preset = "ordinary",
	  .silent = true,
	  .help = "Pages of the working sets; huge: transparent huge pages",
	  .value = &memory.huge },
	{ .name = "partitions",
	  .kind = OPTION_EITHER,
	  .choices = partitions,
	  .metavar = "USE",
	  .preset = "try",
	  .silent = true,
	  .help = "Repeat with half of the caches each where resctrl is mounted, or leave resctrl alone",
	  .value = &memory.series.partitions },
	{ 0 },
};

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "interval", NULL },
	{ "nsecs", "yes" },
	{ 0 },
};

static void describe(struct json *json)
{
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	json_u64(json, "largest_bytes",
		 memory.series.sizes ? memory.series.size[memory.series.sizes - 1] : 0);
	json_u64(json, "huge_page_bytes", memory.series.huge);
	partitions_describe(json, root);
	if (root >= 0)
		close(root);
}

static size_t grains(uint64_t bytes)
{
	return (size_t)((bytes + GRAIN - 1) / GRAIN * GRAIN);
}

/* Each CPU has one largest set, and the victim one more. */
static uint64_t room_for_largest(void)
{
	return memory_available() / 4 / (memory.cpus.count + 2);
}

/* Even the smallest set takes a whole page. */
static int choose_pages(char *error, size_t error_size)
{
	if (!memory.huge)
		return 0;
	memory.series.huge = reach_huge_page();
	if (!memory.series.huge) {
		return options_refuse(error, error_size, "pages",
				      "--pages huge: this kernel has no transparent huge pages; --pages ordinary measures");
	}
	if (memory.series.huge * SERIES_VICTIMS <= room_for_largest())
		return 0;
	return options_refuse(error, error_size, "pages",
			      "--pages huge: huge pages have %llu MiB here, and there is not memory enough for one to each working set",
			      (unsigned long long)(memory.series.huge >> 20));
}

static int choose_largest(char *error, size_t error_size)
{
	uint64_t room = room_for_largest();
	bool given = memory.largest_mib;
	struct cache last = { 0 };

	memory.largest = memory.largest_mib << 20;

	if (!given) {
		memory.largest = cache_of_cpu(memory.cpus.number[0], 0, &last) ? 2 * last.size :
										 LARGEST_UNKNOWN;
		if (memory.largest < LARGEST_MIN)
			memory.largest = LARGEST_MIN;
	}
	if (memory.largest > room && given) {
		return options_refuse(error, error_size, "largest",
				      "--largest %llu MiB for each of %u CPUs is more than a quarter of the free memory; at most %llu fit",
				      (unsigned long long)(memory.largest >> 20), memory.cpus.count,
				      (unsigned long long)(room >> 20));
	}
	if (memory.largest > room) {
		memory.largest = room > GRAIN ? room / GRAIN * GRAIN : GRAIN;
		session_warn("little-memory",
			     "a quarter of the free memory is less than what twice the last cache takes for each CPU: the largest working sets may lie in a cache");
	}
	return 0;
}

/* Two to each doubling. */
static void choose_sizes(void)
{
	size_t size = SMALLEST;

	while (size < memory.largest && memory.series.sizes < SERIES_SIZES - 1) {
		memory.series.size[memory.series.sizes++] = size;
		if (size >= 2 * SMALLEST && size + size / 2 < memory.largest &&
		    memory.series.sizes < SERIES_SIZES - 1)
			memory.series.size[memory.series.sizes++] = size + size / 2;
		size *= 2;
	}
	memory.series.size[memory.series.sizes++] = grains(memory.largest);
}

static void name_place(struct place *place)
{
	unsigned int first = memory.cpus.number[place->member[0]];

	if (place->count == 1)
		snprintf(place->name, sizeof(place->name), "CPU %u", first);
	else if (place->count == memory.cpus.count)
		snprintf(place->name, sizeof(place->name), "all %u CPUs", place->count);
	else
		snprintf(place->name, sizeof(place->name), "CPU %u's siblings", first);
}

static void add_place(const cpu_set_t *cpus)
{
	struct place *place = &memory.series.place[memory.series.places++];

	for (unsigned int i = 0; i < memory.cpus.count; i++) {
		if (CPU_ISSET(memory.cpus.number[i], cpus))
			place->member[place->count++] = i;
	}
	name_place(place);
}

/* One CPU, the threads of its core where there are several and all are measured, all CPUs. */
static void choose_places(void)
{
	cpu_set_t first, siblings, all;
	char path[96], text[CPULIST_SIZE];

	CPU_ZERO(&first);
	CPU_SET(memory.cpus.number[0], &first);
	CPU_ZERO(&all);
	for (unsigned int i = 0; i < memory.cpus.count; i++)
		CPU_SET(memory.cpus.number[i], &all);
	add_place(&first);
	snprintf(path, sizeof(path), SIBLINGS_FILE, memory.cpus.number[0]);
	if (file_text(AT_FDCWD, path, text, sizeof(text)) && cpulist_parse(text, &siblings) &&
	    cpulist_have(&all, &siblings) && CPU_COUNT(&siblings) > 1 &&
	    !CPU_EQUAL(&siblings, &all))
		add_place(&siblings);
	if (memory.cpus.count > 1)
		add_place(&all);
}

static void add_victim(const char *name, size_t size)
{
	snprintf(memory.series.victim_name[memory.series.victims], MATRIX_LABEL_SIZE, "%s", name);
	memory.series.victim_size[memory.series.victims++] = size;
}

/*
 * Three quarters of each cache; an eighth of a large L3 too, of which many have only a part. The
 * largest set is memory unless a cache may hold it.
 */
static void choose_victims(void)
{
	size_t inner = 0;
	struct cache cache;
	unsigned int shift = memory.largest >> 20 ? 20 : 10;
	bool held = false;
	char name[MATRIX_LABEL_SIZE];

	for (unsigned int level = 1; level <= LEVELS; level++) {
		if (!cache_of_cpu(memory.cpus.number[0], level, &cache))
			continue;
		held = cache.size >= memory.largest;
		if (held)
			continue;
		snprintf(name, sizeof(name), "L%u", level);
		if (level == LEVELS && cache.size / 8 > 2 * inner)
			add_victim("L3/8", grains(cache.size / 8));
		add_victim(name, grains(cache.size / 4 * 3));
		inner = cache.size;
	}
	snprintf(name, sizeof(name), "%llu %s", (unsigned long long)memory.largest >> shift,
		 shift == 20 ? "MiB" : "KiB");
	add_victim(held ? name : "memory", grains(memory.largest));
}

static int check_options(const struct session_options *session, const struct cpus *cpus,
			 char *error, size_t error_size)
{
	if (cpus->count <= SERIES_CPUS)
		return workers_check("memory", session, error, error_size);
	return options_refuse(error, error_size, "cpus",
			      "%u CPUs are too many: choose at most %d with --cpus", cpus->count,
			      SERIES_CPUS);
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	memory.cpus = *cpus;
	if (check_options(session, cpus, error, error_size) || choose_pages(error, error_size) ||
	    choose_largest(error, error_size))
		return -1;
	choose_sizes();
	choose_places();
	choose_victims();
	memory.series.cpus = cpus->count;
	if (series_init(&memory.series,
			session->samples ? (unsigned int)session->samples : WORKERS_SAMPLES_MAX) ||
	    workers_init(cpus->count)) {
		snprintf(error, error_size, "out of memory for the figures of %u CPUs",
			 cpus->count);
		return -1;
	}
	return workers_roles(session, cpus, series_conduct, roles);
}

const struct probe memory_probe = {
	.name = "memory",
	.summary = "how fast memory answers, and what slows it",
	.help = "Memory latency and bandwidth, for working sets from 4 KiB to twice the last cache: on one CPU, on\n"
		"its siblings, on all at once. Then by how much the other CPUs slow the loads of the first, by\n"
		"streams, random writes, atomics, page tables, file writes and cache flushes; and again, where\n"
		"resctrl is mounted, with half of the caches each, in two groups that are removed at the end.\n"
		"--samples are repeats.\n",
	.examples = "  rtscope-agent memory                           all CPUs\n"
		    "  rtscope-agent memory -a 0 --largest 64 -l 9    one CPU\n",
	.options = options,
	.presets = presets,
	.samples = REPEATS,
	.describe = describe,
	.plan = plan,
	.write = series_write,
	.print = series_print,
};
