// SPDX-License-Identifier: GPL-2.0-only
/* All working sets in all places, then the victims: the coordinator of memory's workers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "probe/memory_series.h"
#include "probe/memory_work.h"
#include "probe/partition_groups.h"
#include "probe/reach.h"

#define PASSES 3 /* of all disturbances in a repeat of the curves, which take far longer */

static const struct series *plan;

static struct {
	struct matrix curve[ACCESSES];
	struct matrix slowdown;
	struct matrix partitioned; /* the same with half of the caches each */
} table;

static struct {
	int root;
	bool made;
	char why[256]; /* they could not be */
} partitions = { .root = -1 };

static int make_curves(unsigned int repeats)
{
	static const char *const names[ACCESSES] = { "latency", "read", "write", "copy" };
	char label[MATRIX_LABEL_SIZE];

	for (enum access access = 0; access < ACCESSES; access++) {
		struct matrix *curve = &table.curve[access];

		if (matrix_init(curve, names[access], access ? "bytes_per_s" : "ns", plan->places,
				plan->sizes, repeats))
			return -1;
		curve->of_columns = "bytes";
		for (unsigned int i = 0; i < plan->places; i++) {
			matrix_label_row(curve, i, plan->place[i].name);
		}
		for (unsigned int i = 0; i < plan->sizes; i++) {
			snprintf(label, sizeof(label), "%zu", plan->size[i]);
			matrix_label_column(curve, i, label);
		}
	}
	return 0;
}

static int make_slowdown(struct matrix *slowdown, const char *name, unsigned int repeats)
{
	if (matrix_init(slowdown, name, "ratio", plan->victims, AGGRESSORS, PASSES * repeats))
		return -1;
	slowdown->has_repeats = true;
	for (unsigned int i = 0; i < plan->victims; i++)
		matrix_label_row(slowdown, i, plan->victim_name[i]);
	for (unsigned int i = 0; i < AGGRESSORS; i++)
		matrix_label_column(slowdown, i, aggressor_names[i]);
	return 0;
}

static int make_fields(void)
{
	if (fields_init(plan->cpus + plan->victims, plan->huge))
		return -1;
	for (unsigned int i = 0; i < plan->cpus; i++)
		field_room(i, plan->size[plan->sizes - 1]);
	for (unsigned int i = 0; i < plan->victims; i++)
		field_room(plan->cpus + i, plan->victim_size[i]);
	return 0;
}

int series_init(const struct series *series, unsigned int repeats)
{
	plan = series;
	return make_curves(repeats) || make_slowdown(&table.slowdown, "disturbance", repeats) ||
			       make_slowdown(&table.partitioned, "partitioned", repeats) ||
			       make_fields() ?
		       -1 :
		       0;
}

/* One sample of each CPU of a place: a load from the largest set. */
static void record_loads(const struct place *place)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned int i = 0; i < place->count; i++) {
		uint64_t load_ns = (uint64_t)(NSEC_PER_SEC / workers_rate(place->member[i]) + 0.5);

		record_add(&workers_member(place->member[i])->measuring->record, now_ns - load_ns,
			   now_ns);
	}
}

/* A load's time is the mean of the place's CPUs, a bandwidth their sum. */
static bool access_at(unsigned int number, enum access access, unsigned int size)
{
	const struct place *place = &plan->place[number];
	double sum = 0;

	for (unsigned int i = 0; i < place->count; i++)
		workers_member(place->member[i])->job =
			access_job(place->member[i], access, plan->size[size]);
	/* Linking takes long, and time to rest. */
	if (access == ACCESS_CHASE && !workers_work(place->member, place->count, 0))
		return false;
	if (!workers_work(place->member, place->count, plan->slot_ns))
		return false;
	for (unsigned int i = 0; i < place->count; i++)
		sum += access ? workers_rate(place->member[i]) :
				NSEC_PER_SEC / workers_rate(place->member[i]) / place->count;
	if (!fields_had_memory())
		return true;
	matrix_add(&table.curve[access], number, size, sum);
	if (!access && size == plan->sizes - 1 && number == plan->places - 1)
		record_loads(place);
	return true;
}

/* How many loads a second the victim makes while all others do @disturbing; 0 at the end. */
static double victim_rate(unsigned int victim, const struct job *disturbing, enum aggressor with)
{
	const struct place *all = &plan->place[plan->places - 1];

	workers_member(0)->job = victim_job(plan->cpus + victim, plan->victim_size[victim]);
	for (unsigned int i = 1; i < all->count; i++)
		workers_member(i)->job = disturbing ? *disturbing : aggressor_job(i, with);
	if (!workers_work(all->member, all->count, plan->slot_ns))
		return 0;
	return workers_rate(0);
}

static void make_partitions(void)
{
	if (!plan->partitions || plan->cpus < 2)
		return;
	partitions.root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	partitions.made =
		partition_groups_make(partitions.root, partitions.why, sizeof(partitions.why));
}

static void remove_partitions(void)
{
	if (partitions.made)
		partition_groups_remove();
	if (partitions.root >= 0)
		close(partitions.root);
}

static bool enter_partitions(void)
{
	const struct place *all = &plan->place[plan->places - 1];
	bool entered = true;

	for (unsigned int i = 0; i < all->count && entered; i++)
		entered = partition_groups_join(i ? SIDE_OTHERS : SIDE_VICTIM,
						workers_member(i)->measuring->tid);
	if (!entered)
		snprintf(partitions.why, sizeof(partitions.why),
			 "threads could not be put into a group of resctrl: %s", strerror(errno));
	return entered;
}

static void leave_partitions(void)
{
	const struct place *all = &plan->place[plan->places - 1];

	for (unsigned int i = 0; i < all->count; i++)
		partition_groups_leave(workers_member(i)->measuring->tid);
}

/* As with @with without partitions, whose rate is @alone too; false at the end. */
static bool disturb_partitioned(unsigned int victim, enum aggressor with, double alone)
{
	double disturbed;

	if (!partitions.made || *partitions.why)
		return true;
	disturbed = enter_partitions() ? victim_rate(victim, NULL, with) : 0;
	leave_partitions();
	if (*partitions.why)
		return true;
	if (disturbed > 0 && fields_had_memory())
		matrix_add(&table.partitioned, victim, with, alone / disturbed);
	return disturbed > 0;
}

static bool disturb(unsigned int victim)
{
	for (enum aggressor with = 0; with < AGGRESSORS; with++) {
		double alone, disturbed;

		if (!aggressor_is_possible(with))
			continue;
		alone = victim_rate(victim, &workers_hold, with);
		disturbed = alone > 0 ? victim_rate(victim, NULL, with) : 0;
		if (disturbed <= 0)
			return false;
		if (fields_had_memory())
			matrix_add(&table.slowdown, victim, with, alone / disturbed);
		if (!disturb_partitioned(victim, with, alone))
			return false;
	}
	return true;
}

static bool disturb_all(void)
{
	for (unsigned int victim = 0; plan->cpus > 1 && victim < plan->victims; victim++) {
		if (!disturb(victim))
			return false;
	}
	return true;
}

static bool do_repeat(void)
{
	unsigned int passes = 0;

	for (unsigned int size = 0; size < plan->sizes; size++) {
		for (unsigned int place = 0; place < plan->places; place++) {
			for (enum access access = 0; access < ACCESSES; access++) {
				if (!access_at(place, access, size))
					return false;
			}
		}
		if ((size + 1) * PASSES / plan->sizes > passes) {
			passes++;
			if (!disturb_all())
				return false;
		}
	}
	return true;
}

/* The victim's sets, which stay as they are. */
static bool link_victims(void)
{
	unsigned int first = 0;

	for (unsigned int victim = 0; plan->cpus > 1 && victim < plan->victims; victim++) {
		workers_member(first)->job =
			victim_job(plan->cpus + victim, plan->victim_size[victim]);
		if (!workers_work(&first, 1, 0))
			return false;
	}
	return true;
}

/* However short the time that was asked for, everything is done once. */
void series_conduct(struct measuring *measuring)
{
	uint64_t repeat = 0;

	workers_lead(measuring);
	make_partitions();
	if (!clock_sleep_until(measuring->start_ns) && link_victims()) {
		while (do_repeat() && ++repeat < measuring->samples &&
		       measuring_goes_on(measuring, clock_now_ns()))
			;
	}
	remove_partitions();
	measuring->completed |= repeat == measuring->samples;
	workers_dismiss(measuring->completed);
}

static void warn_of_pages(void)
{
	uint64_t mapped = fields_mapped(), in_huge = 0;
	char text[160];

	if (!plan->huge || !mapped)
		return;
	if (!reach_in_huge_pages(&in_huge)) {
		session_warn("pages-unknown",
			     "it is unknown whether the working sets got huge pages: the kernel has no /proc/self/smaps_rollup");
		return;
	}
	if (in_huge >= mapped)
		return;
	snprintf(text, sizeof(text),
		 "%llu MiB of the %llu MiB of working sets lie in huge pages: the kernel gave no more",
		 (unsigned long long)(in_huge >> 20), (unsigned long long)(mapped >> 20));
	session_warn("no-huge-pages", text);
}

void series_write(struct json *json)
{
	if (!fields_had_memory())
		session_warn("little-memory",
			     "there was no memory for the larger working sets, so they were not measured");
	warn_of_pages();
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_write(&table.curve[access], json);
	if (plan->cpus > 1)
		matrix_write(&table.slowdown, json);
	if (partitions.made)
		matrix_write(&table.partitioned, json);
	if (*partitions.why)
		session_warn("no-partitions", partitions.why);
}

void series_print(FILE *out, const struct measuring *measuring, unsigned int count)
{
	(void)measuring;
	(void)count;
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_print(out, &table.curve[access]);
	if (plan->cpus > 1)
		matrix_print(out, &table.slowdown);
	if (partitions.made)
		matrix_print(out, &table.partitioned);
	if (*partitions.why)
		session_warn("no-partitions", partitions.why);
}
