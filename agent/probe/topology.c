// SPDX-License-Identifier: GPL-2.0-only
/*
 * topology: what CPUs share with each other, by measurement.
 *
 * Two CPUs at a time, and one after the other each kind of work: first one works
 * while the other is held, awake but idle, then both work, then the other way
 * round. How much longer the same work takes with the other is their slowdown; it
 * is 1 where they share nothing of what that work needs. Held rather than asleep, so
 * that neither a step of the frequency nor another program is taken for sharing;
 * what being awake itself costs the other is measured too: a CPU's time, where two
 * are one.
 *
 * Also, how long a message takes: two CPUs write to one cache line in turn.
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

static struct {
	uint64_t slot_ns;
} topology;

static const struct option_spec options[] = { WORKERS_SLOT("8ms", topology.slot_ns), { 0 } };

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "interval", NULL },
	{ "nsecs", "yes" },
	{ 0 },
};

static void describe(struct json *json)
{
	const char *vector = work_vector_name();

	json_string(json, "vector", vector ? vector : "none");
}

static int check_options(const struct session_options *session, const struct cpus *cpus,
			 char *error, size_t error_size)
{
	if (workers_check("topology", session, error, error_size))
		return -1;
	if (cpus->count > TOPOLOGY_CPUS)
		options_refuse(error, error_size, "cpus",
			       "%u CPUs are %u pairs: choose at most %d of them with --cpus",
			       cpus->count, cpus->count * (cpus->count - 1) / 2, TOPOLOGY_CPUS);
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

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	unsigned int repeats;

	if (check_options(session, cpus, error, error_size))
		return -1;
	repeats = session->samples ? (unsigned int)session->samples : WORKERS_SAMPLES_MAX;
	warn_of_length(session, cpus->count, repeats);
	if (pairs_init(cpus, session->dry_run ? 1 : repeats, topology.slot_ns) ||
	    workers_init(cpus->count)) {
		return options_refuse(error, error_size, "cpus",
				      "out of memory for %u CPUs: choose fewer with --cpus",
				      cpus->count);
	}
	kinds_choose(cpus->number[0]);
	return workers_roles(session, cpus, pairs_conduct, roles);
}

const struct probe topology_probe = {
	.name = "topology",
	.summary = "which CPUs share what, and how fast they reach each other",
	.help = "What CPUs share, by measurement: how long a message takes from each CPU to each other, and how\n"
		"much longer the same work takes while another CPU does it too. The works are scalar and vector\n"
		"arithmetic, loads from each level of the caches, and memory reads. --samples are repeats of all\n"
		"pairs of CPUs.\n",
	.examples = "  rtscope-agent topology                         all CPUs\n"
		    "  rtscope-agent topology -a 0,4 --slot 50ms -l 31\n",
	.options = options,
	.presets = presets,
	.samples = REPEATS,
	.describe = describe,
	.metrics = pairs_metrics,
	.plan = plan,
	.write = pairs_write,
	.print = pairs_print,
};
