// SPDX-License-Identifier: GPL-2.0-only
/* The table of loads, and parsing what a user asks of them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "load/set.h"
#include "load/arguments.h"
#include "proc/cpus.h"

#define TEXT_MAX  4096
#define WORDS_MAX 255

static const struct load *const loads[] = {
	&load_cpu,     &load_memory, &load_cache, &load_files,	&load_disk,	 &load_network,
	&load_process, &load_ipc,    &load_video, &load_timers, &load_stress_ng, &load_cmd,
};

/* mixed is all loads that count their work, in this order. */
#define MIXED_PARTS 10

static const char *const names[] = {
	"cpu",	 "memory", "cache", "files", "disk",	  "network", "process", "ipc",
	"video", "timers", "mixed", "idle",  "stress-ng", "cmd",     NULL,
};

static const struct load *find(const char *name, size_t length)
{
	for (unsigned int i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (strlen(loads[i]->name) == length && !strncmp(loads[i]->name, name, length))
			return loads[i];
	}
	return NULL;
}

const char *const *load_names(void)
{
	return names;
}

const char *load_help(const char *name)
{
	const struct load *load = find(name, strlen(name));

	if (load)
		return load->help;
	if (!strcmp(name, "mixed"))
		return "all loads from cpu to timers at once";
	return strcmp(name, "idle") ? NULL : "nothing";
}

const char *load_strength(const char *name)
{
	const struct load *load = find(name, strlen(name));

	if (!strcmp(name, "mixed"))
		return "workers of each load";
	if (!load || load->external)
		return NULL;
	return load->strength ? load->strength : "workers";
}

const char *load_strength_default(const char *name)
{
	if (!load_strength(name))
		return NULL;
	return strcmp(name, "mixed") ? "one per CPU" : "one for every four CPUs";
}

struct load_set *load_set_new(uint64_t seed)
{
	struct load_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->seed = seed;
	set->lifeline = -1;
	set->lock = -1;
	return set;
}

void load_set_limit_cpus(struct load_set *set, const struct cpus *cpus)
{
	set->cpus = *cpus;
}

static void drop_parts(struct load_set *set, unsigned int from)
{
	for (unsigned int i = from; i < set->size; i++) {
		free(set->part[i].name);
		free(set->part[i].argument);
	}
	if (from < set->size)
		set->lines = set->part[from].first_line;
	set->size = from;
}

void load_set_free(struct load_set *set)
{
	if (!set)
		return;
	load_set_stop(set);
	drop_parts(set, 0);
	if (set->shared)
		munmap(set->shared, set->shared_size);
	free(set);
}

/* Where an error goes, and the spec that it is about. */
struct complaint {
	char *text;
	size_t size;
};

static int refuse(const struct complaint *complaint, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(const struct complaint *complaint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint->text, complaint->size, format, arguments);
	va_end(arguments);
	/* What is quoted may hold anything; a sentence is one line. */
	for (char *c = complaint->text; complaint->size && *c; c++) {
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	}
	return -1;
}

static unsigned int cpus_of(const struct load_set *set)
{
	static unsigned int count;
	struct cpus cpus;

	if (set->cpus.count)
		return set->cpus.count;
	if (!count) {
		cpus_usable(&cpus);
		count = cpus.count ? cpus.count : 1;
	}
	return count;
}

static int add_part(struct load_set *set, const struct load *load, unsigned int strength,
		    const char *argument, const struct complaint *complaint)
{
	struct part *part = &set->part[set->size];

	if (set->size == LOADS_MAX)
		return refuse(complaint, "at most %d loads are supported", LOADS_MAX);
	*part = (struct part){ .load = load, .strength = strength, .first_line = set->lines };
	if (argument && (part->argument = strdup(argument)) != NULL) {
		size_t size = strlen(load->name) + strlen(argument) + 2;

		part->name = malloc(size);
		if (part->name)
			snprintf(part->name, size, "%s:%s", load->name, argument);
	} else {
		part->name = strdup(load->name);
	}
	set->lines += strength ? strength : 1;
	set->size++;
	return part->name && (part->argument || !argument) ? 0 : refuse(complaint, "out of memory");
}

static int add_mixed(struct load_set *set, unsigned int strength, const struct complaint *complaint)
{
	if (!strength)
		strength = (cpus_of(set) + 3) / 4;
	for (unsigned int i = 0; i < MIXED_PARTS; i++) {
		if (add_part(set, loads[i], strength, NULL, complaint) < 0)
			return -1;
		set->part[set->size - 1].optional = true;
	}
	return 0;
}

static int add_external(struct load_set *set, const struct load *load, const char *argument,
			const struct complaint *complaint)
{
	char copy[TEXT_MAX];
	char *word[WORDS_MAX + 1];

	if (!argument || !argument[strspn(argument, " \t\n")])
		return refuse(complaint, "load '%s' needs something to run: write %s", load->name,
			      load == &load_cmd ? "cmd:COMMAND, such as 'cmd:make -j4'" :
						  "stress-ng:ARGS, such as 'stress-ng:--cpu 2'");
	if (strlen(argument) >= sizeof(copy))
		return refuse(complaint,
			      "load '%s:%.20s...' is longer than %d characters: put it in a script",
			      load->name, argument, TEXT_MAX - 1);
	strcpy(copy, argument);
	if (load == &load_stress_ng && arguments_split(copy, word, WORDS_MAX) < 0)
		return refuse(complaint,
			      "load 'stress-ng:%.80s': a quote is not closed, or there are more than %d words",
			      argument, WORDS_MAX);
	return add_part(set, load, 0, argument, complaint);
}

/* The number at @text and nothing else; 0 when it is not one from 1 to LOAD_STRENGTH_MAX. */
static unsigned int parse_strength(const char *text, size_t length)
{
	unsigned int strength = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || strength > LOAD_STRENGTH_MAX)
			return 0;
		strength = strength * 10 + (unsigned int)(text[i] - '0');
	}
	return strength > LOAD_STRENGTH_MAX ? 0 : strength;
}

static int refuse_name(const char *name, size_t length, const struct complaint *complaint)
{
	char known[256] = "";

	for (const char *const *at = names; *at; at++) {
		strcat(known, at == names ? "" : ", ");
		strcat(known, *at);
	}
	return refuse(complaint, "'%.*s' is not a load: choose from %s, and join several by +",
		      length > 40 ? 40 : (int)length, name, known);
}

/* One load of a spec, @length long; but an external one takes all of @text. */
static int parse_one(struct load_set *set, const char *text, size_t length, bool *took_all,
		     const struct complaint *complaint)
{
	const char *colon = memchr(text, ':', length);
	size_t name_length = colon ? (size_t)(colon - text) : length;
	const struct load *load = find(text, name_length);
	bool mixed = name_length == 5 && !strncmp(text, "mixed", 5);
	bool idle = name_length == 4 && !strncmp(text, "idle", 4);
	unsigned int strength = 0;

	*took_all = load && load->external;
	if (*took_all)
		return add_external(set, load, colon ? colon + 1 : NULL, complaint);
	if (!load && !mixed && !idle)
		return refuse_name(text, name_length, complaint);
	if (idle && colon)
		return refuse(complaint, "load 'idle' is nothing and has no strength: write idle");
	if (colon)
		strength = parse_strength(colon + 1, length - name_length - 1);
	if (colon && !strength)
		return refuse(complaint,
			      "load '%.*s': its strength must be a whole number from 1 to %d, such as %.*s:2",
			      length > 40 ? 40 : (int)length, text, LOAD_STRENGTH_MAX,
			      (int)name_length, text);
	if (mixed)
		return add_mixed(set, strength, complaint);
	return idle ? 0 : add_part(set, load, strength ? strength : cpus_of(set), NULL, complaint);
}

int load_set_parse(struct load_set *set, const char *spec, char *error, size_t error_size)
{
	const struct complaint complaint = { error, error_size };
	unsigned int before = set->size;
	bool took_all = false;
	size_t length;

	for (;; spec += length + 1) {
		length = strcspn(spec, "+");
		if (parse_one(set, spec, length, &took_all, &complaint) < 0) {
			drop_parts(set, before);
			return -1;
		}
		if (took_all || !spec[length])
			return 0;
	}
}

unsigned int load_set_size(const struct load_set *set)
{
	return set->size;
}

void load_set_read(const struct load_set *set, unsigned int index, struct load_work *work)
{
	const struct part *part = &set->part[index];
	unsigned int workers = part->strength ? part->strength : 1;

	*work = (struct load_work){
		.name = part->name,
		.strength = part->strength,
		.seed = set->seed,
	};
	while (work->units < LOAD_UNITS_MAX && part->load->unit[work->units]) {
		work->unit[work->units] = part->load->unit[work->units];
		work->units++;
	}
	for (unsigned int worker = 0; set->shared && worker < workers; worker++) {
		const struct worker_line *line = &set->shared->line[part->first_line + worker];

		for (unsigned int unit = 0; unit < work->units; unit++)
			work->total[unit] +=
				atomic_load_explicit(&line->work[unit], memory_order_relaxed);
	}
}
