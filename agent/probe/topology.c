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
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "probe/topology_pairs.h"
#include "probe/topology_work.h"
#include "probe/work.h"
#include "session/session.h"

#define SLOT_NS		(8 * NSEC_PER_MSEC)
#define REPEATS		19 /* with two CPUs, three of them may be stalls */
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
	char name[24];
} topology = { .slot_ns = SLOT_NS, .stands_in = -1 };

static const struct option options[] = {
	{ "slot", required_argument, NULL, OPTION_SLOT },
	{ "stand-in", required_argument, NULL, OPTION_STAND_IN },
	{ 0 },
};

static void defaults(struct session_options *session)
{
	session->idle.mode = IDLE_DEFAULT; /* no wake-up is measured: as production has it */
	session->interval_ns = 0;
	session->samples = REPEATS;
	session->nanoseconds = true;
}

static int take_stand_in(const char *text, char *error, size_t error_size)
{
	const char *equals = strchr(text, '=');
	uint64_t cpu = 0, other = 0;
	char number[8] = "";

	if (equals && equals - text < (ptrdiff_t)sizeof(number))
		memcpy(number, text, (size_t)(equals - text));
	if (!equals || !option_number(number, CPUS_MAX - 1, &cpu) ||
	    !option_number(equals + 1, CPUS_MAX - 1, &other) || cpu == other)
		return option_refuse("--stand-in", text, "two CPUs such as 1=0", error, error_size);
	topology.stands_in = (int)cpu;
	topology.other = (unsigned int)other;
	return 0;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	if (val == OPTION_STAND_IN)
		return take_stand_in(text, error, error_size);
	return crew_take_slot(text, &topology.slot_ns, error, error_size);
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
	if (crew_check("topology", session, error, error_size))
		return -1;
	if (cpus->count > TOPOLOGY_CPUS)
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

static void warn_of_length(const struct session_options *session, unsigned int cpus,
			   unsigned int repeats)
{
	uint64_t pairs = (uint64_t)cpus * (cpus - 1) / 2;
	uint64_t ns = pairs * SLOTS_OF_A_PAIR * repeats * topology.slot_ns / 2 * 3;
	char text[192];

	if (session->duration_ns || ns < LONG_NS)
		return;
	snprintf(text, sizeof(text),
		 "%llu pairs of CPUs take about %llu minutes; fewer --cpus, --samples or a shorter --slot take less",
		 (unsigned long long)pairs, (unsigned long long)(ns / NSEC_PER_SEC / 60));
	session_warn("topology-long", text);
}

/* Threads that are to take turns on one CPU have to be ordinary ones. */
static void stand_in(const struct cpus *cpus, struct role *roles)
{
	for (unsigned int i = 0; i < cpus->count; i++) {
		if (roles[i].cpu == (int)topology.other)
			roles[i].priority = 0;
		if (roles[i].cpu != topology.stands_in)
			continue;
		snprintf(topology.name, sizeof(topology.name), "as CPU %d", topology.stands_in);
		roles[i].name = topology.name;
		roles[i].priority = 0;
		roles[i].cpu = (int)topology.other;
	}
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int repeats;
	int count;

	if (check_options(session, cpus, error, error_size))
		return -1;
	repeats = session->samples ? (unsigned int)session->samples : CREW_SAMPLES_MAX;
	warn_of_length(session, cpus->count, repeats);
	if (pairs_init(cpus, session->dry_run ? 1 : repeats, topology.slot_ns) ||
	    crew_init(cpus->count)) {
		snprintf(error, error_size, "out of memory for %u CPUs: choose fewer with --cpus",
			 cpus->count);
		return -1;
	}
	kinds_choose(cpus->number[0]);
	count = crew_roles(session, cpus, pairs_conduct, roles);
	if (topology.stands_in >= 0)
		stand_in(cpus, roles);
	return count;
}

static const struct probe probe = {
	.name = "topology",
	.help = "What CPUs share, by measurement: how long a message from each to each other takes, and how\n"
		"much longer the same work takes while another CPU does it too. The works are scalar\n"
		"and vector arithmetic, loads from each level of the caches, and reading of memory.\n"
		"--samples are repeats of all pairs of CPUs, 19 unless given.\n\n"
		"      --slot TIME          how long each work is counted; bare: us (8ms)\n"
		"      --stand-in N=M       have CPU M work for CPU N too, to see whether that is found\n",
	.examples = "  rtscope-agent topology                         all CPUs\n"
		    "  rtscope-agent topology -a 0,4 --slot 50ms -l 31\n",
	.options = options,
	.short_options = "",
	.defaults = defaults,
	.option = take_option,
	.describe = describe,
	.facts = pairs_facts,
	.plan = plan,
	.tell = pairs_write,
	.print = pairs_print,
};

int topology_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
