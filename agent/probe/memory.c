// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory: how fast memory answers and moves, and who slows it for whom.
 *
 * For working sets from a page to twice the last cache: how long a load takes
 * that waits for the one before, at random places, and how much is read, written
 * and copied; by one CPU, by the threads of its core, by all CPUs at once. Where
 * the sets outgrow a cache the curves bend.
 *
 * Then a victim on the first CPU loads from each cache and from memory while the
 * other CPUs do the worst they can, one kind of it at a time: how much longer its
 * loads take than beside CPUs that are awake but idle.
 *
 * Pages are ordinary ones. All is repeated in turn, so that what changes with time
 * changes all of it. A sample is one repeat's load from the largest set.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/matrix.h"
#include "core/options.h"
#include "load/worker.h"
#include "probe/memory_work.h"
#include "probe/probe.h"

#define SLOT_NS		(4 * NSEC_PER_MSEC)
#define SLOT_MIN_NS	NSEC_PER_MSEC
#define REPEATS		5
#define REPEATS_MAX	99
#define MEMORY_CPUS	256
#define SMALLEST	4096UL
#define GRAIN		8192UL
#define LARGEST_MIN	(8UL * 1024 * 1024)
#define LARGEST_UNKNOWN (32UL * 1024 * 1024)
#define SIZES_MAX	64
#define PLACES		3
#define VICTIMS		5
#define LEVELS		3
#define SIBLINGS_FILE	"/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list"
#define RESCTRL		"/sys/fs/resctrl/info"

enum {
	OPTION_SLOT = 1,
	OPTION_LARGEST,
};

/* CPUs that work at once, as indices of the crew. */
struct place {
	unsigned int count;
	unsigned int member[MEMORY_CPUS];
};

static struct {
	uint64_t slot_ns;
	uint64_t largest; /* bytes; 0: not given */
	struct cpus cpus;
	unsigned int repeats;
	unsigned int places;
	struct place place[PLACES];
	unsigned int sizes;
	size_t size[SIZES_MAX];
	unsigned int victims;
	size_t victim_size[VICTIMS];
	char victim_name[VICTIMS][MATRIX_LABEL_SIZE];
	struct matrix curve[ACCESSES];
	struct matrix slowdown;
} memory = { .slot_ns = SLOT_NS };

static const struct option options[] = {
	{ "slot", required_argument, NULL, OPTION_SLOT },
	{ "largest", required_argument, NULL, OPTION_LARGEST },
	{ 0 },
};

static void defaults(struct session_options *session)
{
	session->interval_ns = 0;
	session->samples = REPEATS;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	if (val == OPTION_SLOT) {
		if (option_time(text, NSEC_PER_USEC, &memory.slot_ns) &&
		    memory.slot_ns >= SLOT_MIN_NS && memory.slot_ns <= NSEC_PER_SEC)
			return 0;
		return option_refuse("--slot", text, "a time from 1ms to 1s", error, error_size);
	}
	if (option_number(text, 1 << 20, &memory.largest) && memory.largest) {
		memory.largest *= 1024 * 1024;
		return 0;
	}
	return option_refuse("--largest", text, "a number of MiB, at most 1048576", error,
			     error_size);
}

static void describe(struct json *json)
{
	json_u64(json, "slot_ns", memory.slot_ns);
	json_u64(json, "largest_bytes", memory.sizes ? memory.size[memory.sizes - 1] : 0);
	json_bool(json, "resctrl", !access(RESCTRL, F_OK));
}

static size_t grains(uint64_t bytes)
{
	return (size_t)((bytes + GRAIN - 1) / GRAIN * GRAIN);
}

static int choose_largest(char *error, size_t error_size)
{
	/* Each CPU has one such set, and the victim one more. */
	uint64_t room = machine_memory_available() / 4 / (memory.cpus.count + 2);
	bool given = memory.largest != 0;
	struct cache last = { 0 };

	if (!given) {
		memory.largest = machine_cache(0, &last) ? 2 * last.size : LARGEST_UNKNOWN;
		if (memory.largest < LARGEST_MIN)
			memory.largest = LARGEST_MIN;
	}
	if (memory.largest > room && given) {
		snprintf(error, error_size,
			 "--largest %llu MiB for each of %u CPUs is more than a quarter of the free memory; at most %llu fit",
			 (unsigned long long)(memory.largest >> 20), memory.cpus.count,
			 (unsigned long long)(room >> 20));
		return -1;
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

	while (size < memory.largest && memory.sizes < SIZES_MAX - 1) {
		memory.size[memory.sizes++] = size;
		if (size >= 2 * SMALLEST && size + size / 2 < memory.largest &&
		    memory.sizes < SIZES_MAX - 1)
			memory.size[memory.sizes++] = size + size / 2;
		size *= 2;
	}
	memory.size[memory.sizes++] = grains(memory.largest);
}

static void add_place(const struct cpus *cpus)
{
	struct place *place = &memory.place[memory.places++];

	for (unsigned int i = 0; i < memory.cpus.count; i++) {
		for (unsigned int j = 0; j < cpus->count; j++) {
			if (memory.cpus.number[i] == cpus->number[j])
				place->member[place->count++] = i;
		}
	}
}

/* One CPU, the threads of its core where there are several and all are measured, all CPUs. */
static void choose_places(void)
{
	struct cpus first = { .count = 1, .number = { memory.cpus.number[0] } }, siblings;
	char path[96], text[256], error[256];

	add_place(&first);
	snprintf(path, sizeof(path), SIBLINGS_FILE, first.number[0]);
	if (file_text(AT_FDCWD, path, text, sizeof(text)) &&
	    !cpus_parse(text, &memory.cpus, &siblings, error, sizeof(error)) &&
	    siblings.count > 1 && siblings.count < memory.cpus.count)
		add_place(&siblings);
	if (memory.cpus.count > 1)
		add_place(&memory.cpus);
}

static void add_victim(const char *name, size_t size)
{
	snprintf(memory.victim_name[memory.victims], MATRIX_LABEL_SIZE, "%s", name);
	memory.victim_size[memory.victims++] = size;
}

/* Three quarters of each cache; an eighth of a large L3 too, of which many have only a part. */
static void choose_victims(void)
{
	size_t inner = 0;
	struct cache cache;
	char name[16];

	for (unsigned int level = 1; level <= LEVELS; level++) {
		if (!machine_cache(level, &cache) || cache.size >= memory.largest)
			continue;
		snprintf(name, sizeof(name), "L%u", level);
		if (level == LEVELS && cache.size / 8 > 2 * inner)
			add_victim("L3/8", grains(cache.size / 8));
		add_victim(name, grains(cache.size / 4 * 3));
		inner = cache.size;
	}
	add_victim("memory", grains(memory.largest));
}

/* Of the places that --dry-run and the labels name: "CPU 0", "CPUs 0-1". */
static void name_place(const struct place *place, char *text, size_t size)
{
	unsigned int first = memory.cpus.number[place->member[0]];

	if (place->count == 1)
		snprintf(text, size, "CPU %u", first);
	else if (place->count == memory.cpus.count)
		snprintf(text, size, "all %u CPUs", place->count);
	else
		snprintf(text, size, "CPU %u's siblings", first);
}

static int make_curves(void)
{
	static const char *const names[ACCESSES] = { "latency", "read", "write", "copy" };
	char label[MATRIX_LABEL_SIZE];

	for (enum access access = 0; access < ACCESSES; access++) {
		struct matrix *curve = &memory.curve[access];

		if (matrix_init(curve, names[access], access ? "bytes_per_s" : "ns", memory.places,
				memory.sizes, memory.repeats))
			return -1;
		for (unsigned int i = 0; i < memory.places; i++) {
			name_place(&memory.place[i], label, sizeof(label));
			matrix_label_row(curve, i, label);
		}
		for (unsigned int i = 0; i < memory.sizes; i++) {
			snprintf(label, sizeof(label), "%zu", memory.size[i]);
			matrix_label_column(curve, i, label);
		}
	}
	return 0;
}

static int make_slowdown(void)
{
	if (matrix_init(&memory.slowdown, "disturbance", "ratio", memory.victims, AGGRESSORS,
			memory.repeats))
		return -1;
	for (unsigned int i = 0; i < memory.victims; i++)
		matrix_label_row(&memory.slowdown, i, memory.victim_name[i]);
	for (unsigned int i = 0; i < AGGRESSORS; i++)
		matrix_label_column(&memory.slowdown, i, aggressor_names[i]);
	return 0;
}

static int make_fields(void)
{
	if (fields_init(memory.cpus.count + memory.victims))
		return -1;
	for (unsigned int i = 0; i < memory.cpus.count; i++)
		field_room(i, grains(memory.largest));
	for (unsigned int i = 0; i < memory.victims; i++)
		field_room(memory.cpus.count + i, memory.victim_size[i]);
	return 0;
}

static int check_options(const struct session_options *session, const struct cpus *cpus,
			 char *error, size_t error_size)
{
	if (session->interval_ns || session->policy == POLICY_DEADLINE)
		snprintf(error, error_size,
			 session->interval_ns ?
				 "memory takes no --interval: --slot says how long each work is counted" :
				 "memory works without a pause, which SCHED_DEADLINE does not grant: measure with --policy fifo or other");
	else if (session->samples > REPEATS_MAX)
		snprintf(error, error_size,
			 "--samples %llu are repeats of all working sets: at most %d are kept; a longer --slot makes each more exact",
			 (unsigned long long)session->samples, REPEATS_MAX);
	else if (cpus->count > MEMORY_CPUS)
		snprintf(error, error_size, "%u CPUs are too many: choose at most %d with --cpus",
			 cpus->count, MEMORY_CPUS);
	else
		return 0;
	return -1;
}

static void conduct(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	memory.cpus = *cpus;
	if (check_options(session, cpus, error, error_size) || choose_largest(error, error_size))
		return -1;
	memory.repeats = session->samples ? (unsigned int)session->samples : REPEATS_MAX;
	choose_sizes();
	choose_places();
	choose_victims();
	if (make_curves() || make_slowdown() || make_fields() || crew_init(cpus->count)) {
		snprintf(error, error_size, "out of memory for the figures of %u CPUs",
			 cpus->count);
		return -1;
	}
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = (struct role){
			.name = "",
			.body = crew_serve,
			.cpu = cpus->number[i],
			.priority = session->priority,
			.spins = true,
		};
	roles[cpus->count] = (struct role){
		.name = "conductor",
		.body = conduct,
		.cpu = -1,
		.priority = session->priority,
		.silent = true,
	};
	return (int)cpus->count + 1;
}

static double rate_of(unsigned int index)
{
	const struct member *member = crew_member(index);

	return (double)member->done * NSEC_PER_SEC / (double)member->wall_ns;
}

/* One sample of each CPU of a place: a load from the largest set. */
static void record_loads(const struct measuring *conductor, const struct place *place)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned int i = 0; i < place->count; i++) {
		uint64_t load_ns = (uint64_t)(NSEC_PER_SEC / rate_of(place->member[i]) + 0.5);

		record_add(&crew_member(place->member[i])->measuring->record, conductor->control,
			   now_ns - load_ns, now_ns);
	}
}

/* A load's time is the mean of the place's CPUs, a bandwidth their sum. */
static bool access_at(const struct measuring *conductor, unsigned int number, enum access access,
		      unsigned int size)
{
	const struct place *place = &memory.place[number];
	double sum = 0;

	for (unsigned int i = 0; i < place->count; i++)
		crew_member(place->member[i])->job =
			access_job(place->member[i], access, memory.size[size]);
	/* Linking takes long, and time to rest. */
	if (access == ACCESS_CHASE && !crew_work(place->member, place->count, 0))
		return false;
	if (!crew_work(place->member, place->count, memory.slot_ns))
		return false;
	for (unsigned int i = 0; i < place->count; i++)
		sum += access ? rate_of(place->member[i]) :
				NSEC_PER_SEC / rate_of(place->member[i]) / place->count;
	if (!fields_had_memory())
		return true;
	matrix_add(&memory.curve[access], number, size, sum);
	if (!access && size == memory.sizes - 1 && number == memory.places - 1)
		record_loads(conductor, place);
	return true;
}

/* How many loads a second the victim makes while all others do @disturbing; 0 at the end. */
static double victim_rate(unsigned int victim, const struct job *disturbing, enum aggressor with)
{
	const struct place *all = &memory.place[memory.places - 1];

	crew_member(0)->job =
		access_job(memory.cpus.count + victim, ACCESS_CHASE, memory.victim_size[victim]);
	for (unsigned int i = 1; i < all->count; i++)
		crew_member(i)->job = disturbing ? *disturbing : aggressor_job(i, with);
	if (!crew_work(all->member, all->count, memory.slot_ns))
		return 0;
	return rate_of(0);
}

static bool disturb(unsigned int victim)
{
	for (enum aggressor with = 0; with < AGGRESSORS; with++) {
		double alone, beside;

		if (!aggressor_is_possible(with))
			continue;
		alone = victim_rate(victim, &crew_hold, with);
		beside = alone > 0 ? victim_rate(victim, NULL, with) : 0;
		if (beside <= 0)
			return false;
		if (fields_had_memory())
			matrix_add(&memory.slowdown, victim, with, alone / beside);
	}
	return true;
}

static bool do_repeat(const struct measuring *conductor)
{
	for (unsigned int size = 0; size < memory.sizes; size++) {
		for (unsigned int place = 0; place < memory.places; place++) {
			for (enum access access = 0; access < ACCESSES; access++) {
				if (!access_at(conductor, place, access, size))
					return false;
			}
		}
	}
	for (unsigned int victim = 0; memory.cpus.count > 1 && victim < memory.victims; victim++) {
		if (!disturb(victim))
			return false;
	}
	return true;
}

/* The victim's sets, which stay as they are. */
static bool link_victims(void)
{
	unsigned int first = 0;

	for (unsigned int victim = 0; memory.cpus.count > 1 && victim < memory.victims; victim++) {
		crew_member(first)->job = access_job(memory.cpus.count + victim, ACCESS_CHASE,
						     memory.victim_size[victim]);
		if (!crew_work(&first, 1, 0))
			return false;
	}
	return true;
}

/* However short the time that was asked for, everything is done once. */
static void conduct(struct measuring *measuring)
{
	uint64_t repeat = 0;

	crew_lead(measuring);
	if (!clock_sleep_until(measuring->start_ns) && link_victims()) {
		while (do_repeat(measuring) && ++repeat < measuring->samples &&
		       measuring_goes_on(measuring, clock_now_ns()))
			;
	}
	measuring->completed |= repeat == measuring->samples;
	crew_dismiss(measuring->completed);
}

static void tell(struct json *json)
{
	if (!fields_had_memory())
		session_warn("little-memory",
			     "there was no memory for the larger working sets, so they were not measured");
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_write(&memory.curve[access], json);
	if (memory.cpus.count > 1)
		matrix_write(&memory.slowdown, json);
}

static void print(const struct measuring *measuring, unsigned int count)
{
	(void)measuring;
	(void)count;
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_print(&memory.curve[access]);
	if (memory.cpus.count > 1)
		matrix_print(&memory.slowdown);
}

static const struct probe probe = {
	.name = "memory",
	.help = "How long loads take and how much moves, for working sets from 4 KiB to twice the last\n"
		"cache: on one CPU, on its siblings, on all at once. Then by how much the other CPUs slow\n"
		"the loads of the first, by streams, random writes, atomics, page tables, file writes\n"
		"and cache flushes. --samples are repeats, 5 unless given.\n\n"
		"      --slot TIME          how long each work is counted; bare: us (4ms)\n"
		"      --largest MIB        largest working set (twice the last cache)\n",
	.examples = "  rtscope-agent memory                           all CPUs\n"
		    "  rtscope-agent memory -a 0 --largest 64 -l 9    one CPU\n",
	.options = options,
	.short_options = "",
	.defaults = defaults,
	.option = take_option,
	.describe = describe,
	.plan = plan,
	.tell = tell,
	.print = print,
};

int memory_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
