// SPDX-License-Identifier: GPL-2.0-only
/* All working sets in all places, then the victims: the conductor of memory's crew. */
#include <stdio.h>

#include "core/clock.h"
#include "core/matrix.h"
#include "probe/memory_sweep.h"
#include "probe/memory_work.h"

static const struct sweep *plan;

static struct {
	struct matrix curve[ACCESSES];
	struct matrix slowdown;
} table;

static int make_curves(unsigned int repeats)
{
	static const char *const names[ACCESSES] = { "latency", "read", "write", "copy" };
	char label[MATRIX_LABEL_SIZE];

	for (enum access access = 0; access < ACCESSES; access++) {
		struct matrix *curve = &table.curve[access];

		if (matrix_init(curve, names[access], access ? "bytes_per_s" : "ns", plan->places,
				plan->sizes, repeats))
			return -1;
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

static int make_slowdown(unsigned int repeats)
{
	if (matrix_init(&table.slowdown, "disturbance", "ratio", plan->victims, AGGRESSORS,
			repeats))
		return -1;
	for (unsigned int i = 0; i < plan->victims; i++)
		matrix_label_row(&table.slowdown, i, plan->victim_name[i]);
	for (unsigned int i = 0; i < AGGRESSORS; i++)
		matrix_label_column(&table.slowdown, i, aggressor_names[i]);
	return 0;
}

static int make_fields(void)
{
	if (fields_init(plan->cpus + plan->victims))
		return -1;
	for (unsigned int i = 0; i < plan->cpus; i++)
		field_room(i, plan->size[plan->sizes - 1]);
	for (unsigned int i = 0; i < plan->victims; i++)
		field_room(plan->cpus + i, plan->victim_size[i]);
	return 0;
}

int sweep_init(const struct sweep *sweep, unsigned int repeats)
{
	plan = sweep;
	return make_curves(repeats) || make_slowdown(repeats) || make_fields() ? -1 : 0;
}

/* One sample of each CPU of a place: a load from the largest set. */
static void record_loads(const struct measuring *conductor, const struct place *place)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned int i = 0; i < place->count; i++) {
		uint64_t load_ns = (uint64_t)(NSEC_PER_SEC / crew_rate(place->member[i]) + 0.5);

		record_add(&crew_member(place->member[i])->measuring->record, conductor->control,
			   now_ns - load_ns, now_ns);
	}
}

/* A load's time is the mean of the place's CPUs, a bandwidth their sum. */
static bool access_at(const struct measuring *conductor, unsigned int number, enum access access,
		      unsigned int size)
{
	const struct place *place = &plan->place[number];
	double sum = 0;

	for (unsigned int i = 0; i < place->count; i++)
		crew_member(place->member[i])->job =
			access_job(place->member[i], access, plan->size[size]);
	/* Linking takes long, and time to rest. */
	if (access == ACCESS_CHASE && !crew_work(place->member, place->count, 0))
		return false;
	if (!crew_work(place->member, place->count, plan->slot_ns))
		return false;
	for (unsigned int i = 0; i < place->count; i++)
		sum += access ? crew_rate(place->member[i]) :
				NSEC_PER_SEC / crew_rate(place->member[i]) / place->count;
	if (!fields_had_memory())
		return true;
	matrix_add(&table.curve[access], number, size, sum);
	if (!access && size == plan->sizes - 1 && number == plan->places - 1)
		record_loads(conductor, place);
	return true;
}

/* How many loads a second the victim makes while all others do @disturbing; 0 at the end. */
static double victim_rate(unsigned int victim, const struct job *disturbing, enum aggressor with)
{
	const struct place *all = &plan->place[plan->places - 1];

	crew_member(0)->job =
		access_job(plan->cpus + victim, ACCESS_CHASE, plan->victim_size[victim]);
	for (unsigned int i = 1; i < all->count; i++)
		crew_member(i)->job = disturbing ? *disturbing : aggressor_job(i, with);
	if (!crew_work(all->member, all->count, plan->slot_ns))
		return 0;
	return crew_rate(0);
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
			matrix_add(&table.slowdown, victim, with, alone / beside);
	}
	return true;
}

static bool do_repeat(const struct measuring *conductor)
{
	for (unsigned int size = 0; size < plan->sizes; size++) {
		for (unsigned int place = 0; place < plan->places; place++) {
			for (enum access access = 0; access < ACCESSES; access++) {
				if (!access_at(conductor, place, access, size))
					return false;
			}
		}
	}
	for (unsigned int victim = 0; plan->cpus > 1 && victim < plan->victims; victim++) {
		if (!disturb(victim))
			return false;
	}
	return true;
}

/* The victim's sets, which stay as they are. */
static bool link_victims(void)
{
	unsigned int first = 0;

	for (unsigned int victim = 0; plan->cpus > 1 && victim < plan->victims; victim++) {
		crew_member(first)->job =
			access_job(plan->cpus + victim, ACCESS_CHASE, plan->victim_size[victim]);
		if (!crew_work(&first, 1, 0))
			return false;
	}
	return true;
}

/* However short the time that was asked for, everything is done once. */
void sweep_conduct(struct measuring *measuring)
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

void sweep_write(struct json *json)
{
	if (!fields_had_memory())
		session_warn("little-memory",
			     "there was no memory for the larger working sets, so they were not measured");
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_write(&table.curve[access], json);
	if (plan->cpus > 1)
		matrix_write(&table.slowdown, json);
}

void sweep_print(const struct measuring *measuring, unsigned int count)
{
	(void)measuring;
	(void)count;
	for (enum access access = 0; access < ACCESSES; access++)
		matrix_print(&table.curve[access]);
	if (plan->cpus > 1)
		matrix_print(&table.slowdown);
}
