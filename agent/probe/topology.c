// SPDX-License-Identifier: GPL-2.0-only
/*
 * topology: what CPUs share with each other, by measurement.
 *
 * Two CPUs at a time, and one after the other each kind of work: first one works
 * while the other is held, awake but idle, then both work, then the other way
 * round. How much longer the same work takes beside the other is their slowdown; it
 * is 1 where they share nothing of what that work needs. Held rather than asleep, so
 * that neither a step of the frequency nor another program is taken for sharing;
 * what being awake itself costs the other is measured too: a CPU's time, where two
 * are one.
 *
 * Beside it, how long a message takes: two CPUs write to one cache line in turn.
 * That is what the histogram has, one sample a repeat: the median to all others.
 *
 * Everything is repeated, the pairs and kinds in turn, so that whatever changes
 * with time changes all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/matrix.h"
#include "core/options.h"
#include "core/session.h"
#include "probe/probe.h"
#include "probe/topology_work.h"
#include "probe/work.h"

#define SLOT_NS		(8 * NSEC_PER_MSEC)
#define SLOT_MIN_NS	NSEC_PER_MSEC
#define REPEATS		9
#define REPEATS_MAX	99
#define TOPOLOGY_CPUS	128
#define LONG_NS		(600 * NSEC_PER_SEC)
#define SLOTS_OF_A_PAIR (3 * KINDS + 3)

enum {
	OPTION_SLOT = 1,
	OPTION_STAND_IN,
};

static struct {
	uint64_t slot_ns;
	int stands_in; /* this CPU's thread runs on the other; -1: none does */
	unsigned int other;
	unsigned int cpus;
	unsigned int repeats;
	struct matrix message, awake;
	struct matrix slowdown[KINDS];
	struct matrix alone[KINDS]; /* work a second beside a held CPU; one column */
	double *of_repeat;	    /* messages of a CPU in this repeat: cpus of each */
	bool pinned_together;
	char name[2][24];
} topology = { .slot_ns = SLOT_NS, .stands_in = -1 };

static const struct option options[] = {
	{ "slot", required_argument, NULL, OPTION_SLOT },
	{ "stand-in", required_argument, NULL, OPTION_STAND_IN },
	{ 0 },
};

static void defaults(struct session_options *session)
{
	session->interval_ns = 0;
	session->samples = REPEATS;
}

static int take_stand_in(const char *text, char *error, size_t error_size)
{
	unsigned int cpu, other;
	char rest;

	if (sscanf(text, "%u=%u%c", &cpu, &other, &rest) != 2 || cpu >= CPUS_MAX ||
	    other >= CPUS_MAX || cpu == other)
		return option_refuse("--stand-in", text, "two CPUs such as 1=0", error, error_size);
	topology.stands_in = (int)cpu;
	topology.other = other;
	return 0;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	if (val == OPTION_STAND_IN)
		return take_stand_in(text, error, error_size);
	if (option_time(text, NSEC_PER_USEC, &topology.slot_ns) &&
	    topology.slot_ns >= SLOT_MIN_NS && topology.slot_ns <= NSEC_PER_SEC)
		return 0;
	return option_refuse("--slot", text, "a time from 1ms to 1s", error, error_size);
}

static void describe(struct json *json)
{
	const char *vector = work_vector_name();

	json_u64(json, "slot_ns", topology.slot_ns);
	json_string(json, "vector", vector ? vector : "none");
	if (topology.stands_in >= 0) {
		json_u64(json, "stands_in", (uint64_t)topology.stands_in);
		json_u64(json, "stands_in_on", topology.other);
	}
}

static int check_options(const struct session_options *session, const struct cpus *cpus,
			 char *error, size_t error_size)
{
	bool found = topology.stands_in < 0, other = found;

	for (unsigned int i = 0; i < cpus->count; i++) {
		found |= cpus->number[i] == topology.stands_in;
		other |= cpus->number[i] == topology.other;
	}
	if (session->interval_ns || session->policy == POLICY_DEADLINE)
		snprintf(error, error_size,
			 session->interval_ns ?
				 "topology takes no --interval: --slot says how long each work is counted" :
				 "topology computes without a pause, which SCHED_DEADLINE does not grant: measure with --policy fifo or other");
	else if (session->samples > REPEATS_MAX)
		snprintf(error, error_size,
			 "--samples %llu are repeats of all pairs of CPUs: at most %d are kept; a longer --slot makes each more exact",
			 (unsigned long long)session->samples, REPEATS_MAX);
	else if (cpus->count > TOPOLOGY_CPUS)
		snprintf(error, error_size,
			 "%u CPUs are %u pairs: choose at most %d of them with --cpus", cpus->count,
			 cpus->count * (cpus->count - 1) / 2, TOPOLOGY_CPUS);
	else if (!found || !other)
		snprintf(error, error_size,
			 "--stand-in %d=%u names a CPU that is not measured; --cpus tells which are",
			 topology.stands_in, topology.other);
	else
		return 0;
	return -1;
}

static void warn_of_length(const struct session_options *session, unsigned int cpus)
{
	uint64_t pairs = (uint64_t)cpus * (cpus - 1) / 2;
	uint64_t ns = pairs * SLOTS_OF_A_PAIR * topology.repeats * topology.slot_ns / 2 * 3;
	char text[192];

	if (session->duration_ns || ns < LONG_NS)
		return;
	snprintf(text, sizeof(text),
		 "%llu pairs of CPUs take about %llu minutes; fewer --cpus, --samples or a shorter --slot take less",
		 (unsigned long long)pairs, (unsigned long long)(ns / NSEC_PER_SEC / 60));
	session_warn("topology-long", text);
}

static int make_square(struct matrix *matrix, const char *name, const char *unit,
		       const struct cpus *cpus)
{
	char label[MATRIX_LABEL_SIZE];

	if (matrix_init(matrix, name, unit, cpus->count, cpus->count, topology.repeats))
		return -1;
	for (unsigned int i = 0; i < cpus->count; i++) {
		snprintf(label, sizeof(label), "CPU %u", cpus->number[i]);
		matrix_label_row(matrix, i, label);
		matrix_label_column(matrix, i, label);
	}
	return 0;
}

static int make_matrices(const struct cpus *cpus)
{
	unsigned int partners = cpus->count > 1 ? cpus->count - 1 : 1;
	int result = make_square(&topology.message, "message", "ns", cpus) |
		     make_square(&topology.awake, "awake", "ratio", cpus);

	for (enum kind kind = 0; kind < KINDS; kind++)
		result |= make_square(&topology.slowdown[kind], kind_names[kind], "ratio", cpus) |
			  matrix_init(&topology.alone[kind], kind_names[kind], "per_s", cpus->count,
				      1, topology.repeats * partners);
	topology.of_repeat = calloc((size_t)cpus->count * cpus->count, sizeof(double));
	return result || !topology.of_repeat ? -1 : 0;
}

static void conduct(struct measuring *measuring);

static struct role role_of(const struct session_options *session, const struct cpus *cpus,
			   unsigned int index)
{
	struct role role = {
		.name = "",
		.body = crew_serve,
		.cpu = cpus->number[index],
		.priority = session->priority,
		.spins = true,
	};

	/* Threads that are to take turns on one CPU have to be ordinary ones. */
	if (topology.stands_in >= 0 &&
	    (role.cpu == topology.stands_in || role.cpu == (int)topology.other))
		role.priority = 0;
	if (role.cpu == topology.stands_in) {
		role.cpu = (int)topology.other;
		snprintf(topology.name[0], sizeof(topology.name[0]), "as CPU %d",
			 topology.stands_in);
		role.name = topology.name[0];
	}
	return role;
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	if (check_options(session, cpus, error, error_size))
		return -1;
	topology.cpus = cpus->count;
	topology.repeats = session->samples ? (unsigned int)session->samples : REPEATS_MAX;
	warn_of_length(session, cpus->count);
	if (session->dry_run)
		topology.repeats = 1;
	if (make_matrices(cpus) || crew_init(cpus->count)) {
		snprintf(error, error_size, "out of memory for %u CPUs: choose fewer with --cpus",
			 cpus->count);
		return -1;
	}
	kinds_choose();
	for (unsigned int i = 0; i < cpus->count; i++)
		roles[i] = role_of(session, cpus, i);
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

/* The pair's rates while @first and @second are their jobs. */
static bool work_beside(const unsigned int pair[2], struct job first, struct job second,
			double rate[2])
{
	crew_member(pair[0])->job = first;
	crew_member(pair[1])->job = second;
	if (!crew_work(pair, 2, topology.slot_ns))
		return false;
	rate[0] = rate_of(pair[0]);
	rate[1] = rate_of(pair[1]);
	return true;
}

static bool work_alone(unsigned int index, enum kind kind, unsigned int side, double *rate)
{
	crew_member(index)->job = kind_job(kind, side);
	if (!crew_work(&index, 1, topology.slot_ns))
		return false;
	*rate = rate_of(index);
	return true;
}

static void add_both(struct matrix *matrix, const unsigned int pair[2], const double figure[2])
{
	matrix_add(matrix, pair[0], pair[1], figure[0]);
	matrix_add(matrix, pair[1], pair[0], figure[1]);
}

static bool compare_kind(const unsigned int pair[2], enum kind kind)
{
	struct job job[2] = { kind_job(kind, 0), kind_job(kind, 1) };
	double held[2][2], beside[2], free[2];

	if (!work_beside(pair, job[0], crew_hold, held[0]) ||
	    !work_beside(pair, job[0], job[1], beside) ||
	    !work_beside(pair, crew_hold, job[1], held[1]))
		return false;
	matrix_add(&topology.alone[kind], pair[0], 0, held[0][0]);
	matrix_add(&topology.alone[kind], pair[1], 0, held[1][1]);
	add_both(&topology.slowdown[kind], pair,
		 (double[]){ held[0][0] / beside[0], held[1][1] / beside[1] });
	if (kind != KIND_SCALAR)
		return true;
	if (!work_alone(pair[0], kind, 0, &free[0]) || !work_alone(pair[1], kind, 1, &free[1]))
		return false;
	add_both(&topology.awake, pair, (double[]){ free[0] / held[0][0], free[1] / held[1][1] });
	return true;
}

static bool exchange_messages(const unsigned int pair[2])
{
	double rate[2], ns;

	if (!work_beside(pair, message_job(0), message_job(1), rate))
		return false;
	ns = message_ns();
	if (ns > 0) {
		add_both(&topology.message, pair, (double[]){ ns, ns });
		topology.of_repeat[pair[0] * topology.cpus + pair[1]] = ns;
		topology.of_repeat[pair[1] * topology.cpus + pair[0]] = ns;
	}
	return true;
}

static bool compare_pair(const unsigned int pair[2])
{
	if (!exchange_messages(pair))
		return false;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind) && !compare_kind(pair, kind))
			return false;
	}
	return true;
}

/* One CPU has nobody to be compared with: what it does alone is all there is. */
static bool measure_lone(void)
{
	double rate;

	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (!kind_is_measured(kind))
			continue;
		if (!work_alone(0, kind, 0, &rate))
			return false;
		matrix_add(&topology.alone[kind], 0, 0, rate);
	}
	return true;
}

/* The one sample of each CPU in a repeat: how long its messages took, in the middle. */
static void record_messages(const struct measuring *conductor)
{
	for (unsigned int i = 0; i < topology.cpus; i++) {
		struct measuring *measuring = crew_member(i)->measuring;
		double *row = topology.of_repeat + (size_t)i * topology.cpus, ns;
		uint64_t now_ns = clock_now_ns();

		row[i] = topology.cpus > 1 ? row[(i + 1) % topology.cpus] : 0;
		ns = median_of(row, topology.cpus);
		if (ns > 0)
			record_add(&measuring->record, conductor->control, now_ns - (uint64_t)ns,
				   now_ns);
	}
}

static bool do_repeat(const struct measuring *conductor)
{
	memset(topology.of_repeat, 0, sizeof(double) * topology.cpus * topology.cpus);
	if (topology.cpus == 1)
		return measure_lone();
	for (unsigned int i = 0; i < topology.cpus; i++) {
		for (unsigned int j = i + 1; j < topology.cpus; j++) {
			if (!compare_pair((unsigned int[]){ i, j }))
				return false;
		}
	}
	record_messages(conductor);
	return true;
}

/* Each CPU is both sides once, so that all memory is there before anything is counted. */
static bool map_memory(void)
{
	double rate;

	for (unsigned int i = 0; i < topology.cpus; i++) {
		for (unsigned int side = 0; side < 2; side++) {
			if (!work_alone(i, KIND_MEMORY, side, &rate))
				return false;
		}
	}
	return true;
}

static void tell_alone(void)
{
	static const char *const keys[KINDS] = {
		"scalar_operations_per_s",
		"vector_operations_per_s",
		"l1_load_ns",
		"l2_load_ns",
		"l3_load_ns",
		"memory_read_bytes_per_s",
	};

	for (unsigned int i = 0; i < topology.cpus; i++) {
		for (enum kind kind = 0; kind < KINDS; kind++) {
			double rate = matrix_median(&topology.alone[kind], i, 0);
			bool load = kind >= KIND_L1 && kind <= KIND_L3;

			if (rate > 0)
				measuring_fact(crew_member(i)->measuring, keys[kind],
					       load ? NSEC_PER_SEC / rate : rate);
		}
	}
}

/* However short the time that was asked for, each pair is compared once. */
static void conduct(struct measuring *measuring)
{
	uint64_t repeat = 0;

	crew_lead(measuring);
	if (!clock_sleep_until(measuring->start_ns) && map_memory()) {
		while (do_repeat(measuring) && ++repeat < measuring->samples &&
		       measuring_goes_on(measuring, clock_now_ns()))
			;
	}
	measuring->completed |= repeat == measuring->samples;
	tell_alone();
	crew_dismiss(measuring->completed);
}

static void tell(struct json *json)
{
	if (!kinds_had_memory())
		session_warn("little-memory",
			     "there was no memory for the working sets, so what CPUs share of caches and memory was not measured");
	matrix_write(&topology.message, json);
	matrix_write(&topology.awake, json);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind))
			matrix_write(&topology.slowdown[kind], json);
	}
}

static void print(const struct measuring *measuring, unsigned int count)
{
	(void)measuring;
	(void)count;
	matrix_print(&topology.message);
	matrix_print(&topology.awake);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (kind_is_measured(kind))
			matrix_print(&topology.slowdown[kind]);
	}
}

static const char *const facts[] = {
	"scalar_operations_per_s",
	"vector_operations_per_s",
	"l1_load_ns",
	"l2_load_ns",
	"l3_load_ns",
	"memory_read_bytes_per_s",
	NULL,
};

static const struct probe probe = {
	.name = "topology",
	.help = "What CPUs share, by measurement: how long a message from each to each other takes, and how\n"
		"much longer the same work takes while another CPU does it too. The works are scalar\n"
		"and vector arithmetic, loads from each level of the caches, and reading of memory.\n"
		"--samples are repeats of all pairs of CPUs, 9 unless given.\n\n"
		"      --slot TIME          how long each work is counted; bare: us (8ms)\n"
		"      --stand-in N=M       have CPU M work for CPU N too, to see whether that is found\n",
	.examples = "  rtscope-agent topology                         all CPUs\n"
		    "  rtscope-agent topology -a 0,4 --slot 50ms -l 31\n",
	.options = options,
	.short_options = "",
	.defaults = defaults,
	.option = take_option,
	.describe = describe,
	.facts = facts,
	.plan = plan,
	.tell = tell,
	.print = print,
};

int topology_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
