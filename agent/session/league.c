// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "session/league.h"

#define PROGRAMS_MAX 256U

static struct program {
	char name[TASK_NAME_SIZE + 1]; /* "" for all that found no place */
	uint64_t total_ns, longest_ns, runs;
} *programs;

static struct league_cpu {
	bool measured;
	uint64_t since_ns; /* the last switch; 0: unknown */
} *cpus;

static uint64_t known_ns; /* on all measured CPUs together */
static unsigned int count;
static const struct session *owner;

void league_prepare(const struct session *session)
{
	if (!session->options.league)
		return;
	programs = calloc(PROGRAMS_MAX, sizeof(*programs));
	cpus = calloc(CPUS_MAX, sizeof(*cpus));
	if (!programs || !cpus || !session->options.json) {
		session_warn("no-league",
			     session->options.json ?
				     "the time that programs take is not counted: out of memory" :
				     "the time that programs take is not counted: the agent's table has no room for it; add --json");
		free(programs);
		programs = NULL;
		return;
	}
	for (unsigned int i = 0; i < session->cpus.count; i++)
		cpus[session->cpus.number[i]].measured = true;
	owner = session;
	count = 1;
}

bool league_is_kept(void)
{
	return programs;
}

static bool is_ours(int tid)
{
	for (unsigned int i = 0; i < owner->threads; i++) {
		if (owner->measuring[i].tid == tid)
			return true;
	}
	return false;
}

static struct program *program_of(const char *name)
{
	for (unsigned int i = 1; i < count; i++) {
		if (!strncmp(programs[i].name, name, TASK_NAME_SIZE))
			return &programs[i];
	}
	if (count == PROGRAMS_MAX)
		return &programs[0];
	strncpy(programs[count].name, name, TASK_NAME_SIZE);
	return &programs[count++];
}

void league_take(const struct sched_event *event)
{
	struct league_cpu *cpu = &cpus[event->cpu];
	struct program *program;
	uint64_t ran_ns;

	if (!event->is_switch || !cpu->measured)
		return;
	ran_ns = event->time_ns - cpu->since_ns;
	if (!cpu->since_ns || event->time_ns < cpu->since_ns)
		ran_ns = 0;
	cpu->since_ns = event->time_ns;
	known_ns += ran_ns;
	if (!ran_ns || !event->task.tid || is_ours(event->task.tid))
		return;
	program = program_of(event->task.name);
	program->total_ns += ran_ns;
	program->runs++;
	if (ran_ns > program->longest_ns)
		program->longest_ns = ran_ns;
}

void league_lose(unsigned int cpu)
{
	cpus[cpu].since_ns = 0;
}

void league_write(struct session *session)
{
	struct json *json = &session->json;

	if (!programs)
		return;
	json_begin(json, "league");
	json_u64(json, "known_ns", known_ns);
	json_array_begin(json, "programs");
	for (unsigned int i = 0; i < count; i++) {
		if (!programs[i].runs)
			continue;
		json_object_begin(json, NULL);
		json_text(json, "name", programs[i].name, strlen(programs[i].name));
		json_u64(json, "total_ns", programs[i].total_ns);
		json_u64(json, "longest_ns", programs[i].longest_ns);
		json_u64(json, "runs", programs[i].runs);
		json_object_end(json);
	}
	json_array_end(json);
	json_end(json);
}
