// SPDX-License-Identifier: GPL-2.0-only
/* One thing of the machine that is changed, and what became of that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/change.h"
#include "tune/rules.h"

static const char *const states[] = {
	[TUNE_PLANNED] = "planned",	[TUNE_APPLIED] = "applied",
	[TUNE_NOT_HELD] = "not-held",	[TUNE_FAILED] = "failed",
	[TUNE_IMMOVABLE] = "immovable", [TUNE_RESTORED] = "restored",
	[TUNE_LEFT] = "left",		[TUNE_GONE] = "gone",
	[TUNE_STALE] = "stale",		[TUNE_IN_EFFECT] = "in-effect",
	[TUNE_SET_BACK] = "set-back",
};

const struct tune_kind *const tune_kinds[] = {
	&tune_thread_policy,
	&tune_thread_nice,
	&tune_thread_cpus,
	&tune_interrupt,
	&tune_file,
	&tune_partition,
	&tune_irqbalance,
	&tune_boot,
	&tune_latency,
	&tune_side_effect,
	NULL,
};

int tune_write(const struct tune_kind *kind, const char *key, const char *before, const char *value)
{
	return kind->replace ? kind->replace(key, before, value) : kind->write(key, value);
}

const char *tune_error_text(const struct tune_kind *kind, int error)
{
	switch (error) {
	case ESRCH:
		return kind->ended ? kind->ended : "it has ended";
	case ESTALE:
		return "somebody changed the file after it was read, so nothing was written: try again";
	case EMLINK:
		return "the file has other hard links, which would keep the old content: edit it by hand";
	case EIO:
		return kind->io_error ? kind->io_error : strerror(error);
	default:
		return strerror(error);
	}
}

bool tune_same(const struct tune_kind *kind, const char *one, const char *other)
{
	return !strcmp(one, other) || (kind->same && kind->same(one, other));
}

static bool is_planned(const struct tune_plan *plan, const struct tune_kind *kind, const char *key)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->change[i].kind == kind && !strcmp(plan->change[i].key, key))
			return true;
	}
	return false;
}

static bool has_room(struct tune_plan *plan)
{
	size_t room = plan->room ? 2 * plan->room : 64;
	struct tune_change *grown;

	if (plan->count < plan->room)
		return true;
	grown = realloc(plan->change, room * sizeof(*grown));
	if (!grown)
		return false;
	plan->change = grown;
	plan->room = room;
	return true;
}

void tune_change_free(struct tune_change *change)
{
	free(change->profile);
	free(change->key);
	free(change->old_value);
	free(change->new_value);
}

struct tune_change *tune_plan_want(struct tune_plan *plan, const struct tune_kind *kind,
				   const char *key, const char *old_value, const char *new_value)
{
	struct tune_change change = {
		.kind = kind,
		.state = tune_same(kind, old_value, new_value) ? TUNE_IN_EFFECT : TUNE_PLANNED,
	};

	if (is_planned(plan, kind, key))
		return NULL;
	change.key = strdup(key);
	change.old_value = strdup(old_value);
	change.new_value = strdup(new_value);
	if (change.key && change.old_value && change.new_value && has_room(plan)) {
		plan->change[plan->count] = change;
		return &plan->change[plan->count++];
	}
	tune_change_free(&change);
	plan->memory_short = true;
	return NULL;
}

bool tune_plan_has(const struct tune_plan *plan, uint64_t number)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->change[i].number == number)
			return true;
	}
	return false;
}

void tune_plan_drop(struct tune_plan *plan, size_t first, enum tune_state state)
{
	size_t kept = first;

	for (size_t i = first; i < plan->count; i++) {
		if (plan->change[i].state == state)
			tune_change_free(&plan->change[i]);
		else
			plan->change[kept++] = plan->change[i];
	}
	plan->count = first < plan->count ? kept : plan->count;
}

void tune_plan_clear(struct tune_plan *plan)
{
	while (plan->count)
		tune_change_free(&plan->change[--plan->count]);
	free(plan->change);
	*plan = (struct tune_plan){ 0 };
}

void tune_change_send(struct json *json, const struct tune_change *change)
{
	char what[256], where[256];

	change->kind->describe(change->key, what, where, sizeof(what));
	json_begin(json, "change");
	json_string(json, "profile", change->profile ? change->profile : "");
	json_string(json, "kind", change->kind->name);
	json_string(json, "what", what);
	json_string(json, "where", where);
	json_string(json, "old", change->old_value);
	json_string(json, "new", change->new_value);
	json_string(json, "state", states[change->state]);
	json_string(json, "why", change->why);
	if (change->rule)
		json_string(json, "rule", change->rule->text);
	json_end(json);
}

static char plain(char character)
{
	return character < ' ' || character > '~' ? '?' : character;
}

void tune_plain(char *text)
{
	for (; *text; text++)
		*text = plain(*text);
}

static void print_text(FILE *file, const char *text)
{
	for (; *text; text++)
		putc(plain(*text), file);
}

void tune_change_print(FILE *file, const struct tune_change *change)
{
	char what[256], where[256];

	change->kind->describe(change->key, what, where, sizeof(what));
	fprintf(file, "%-9s %-13s ", states[change->state], change->kind->name);
	print_text(file, what);
	fputs(": ", file);
	print_text(file, *change->old_value ? change->old_value : "none");
	fputs(" -> ", file);
	print_text(file, *change->new_value ? change->new_value : "none");
	if (*change->why) {
		fputs("; ", file);
		print_text(file, change->why);
	}
	putc('\n', file);
}
