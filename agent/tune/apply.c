// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the changes that rules ask for.
 *
 * A change counts as made when its new value is read back: right after the write,
 * and again a second later, because daemons may have set it back by then.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "proc/processes.h"
#include "tune/apply.h"
#include "tune/boot.h"
#include "tune/files.h"
#include "tune/interrupts.h"
#include "tune/irqbalance.h"
#include "tune/latency.h"
#include "tune/partition.h"
#include "tune/side_effects.h"
#include "tune/threads.h"

#define TICK_NS	 (20 * NSEC_PER_MSEC)
#define UNWANTED "it runs as another user or another program now, which no rule names"

static void warn_of_unmatched(const struct tune_rule *rule, warn_fn *warn)
{
	char text[320];

	if (rule->passed_over) {
		snprintf(text, sizeof(text),
			 "the rule '%.150s' left out %u of the threads with its name, which another user or program runs: add uid= and exe= to the rule to include them",
			 rule->text, rule->passed_over);
		warn("threads-passed-over", text);
	}
	if (rule->matched || rule->passed_over ||
	    (rule->kind != RULE_THREAD && rule->kind != RULE_INTERRUPT && rule->kind != RULE_FILE))
		return;
	snprintf(text, sizeof(text), "the rule '%.200s' matches nothing here", rule->text);
	warn("rule-unmatched", text);
}

/* The rules of one kind make one change: the last of them is named for it. */
static void name_rule(struct tune_plan *plan, size_t first, const struct tune_rules *rules,
		      const struct tune_rule *rule)
{
	const struct tune_rule *last = rule;

	for (unsigned int i = 0; rule->kind != RULE_FILE && i < rules->count; i++) {
		if (rules->rule[i].kind == rule->kind)
			last = &rules->rule[i];
	}
	for (size_t i = first; i < plan->count; i++) {
		if (!plan->change[i].rule)
			plan->change[i].rule = last;
	}
}

/* Threads at the place of the first rule of threads, and interrupts likewise: all their rules count. */
void tune_resolve(struct tune_rules *rules, struct tune_plan *plan, warn_fn *warn)
{
	bool threads = false, interrupts = false;

	for (unsigned int i = 0; i < rules->count; i++)
		rules->rule[i].passed_over = 0;
	for (unsigned int i = 0; i < rules->count; i++) {
		struct tune_rule *rule = &rules->rule[i];
		size_t first = plan->count;

		switch (rule->kind) {
		case RULE_THREAD:
		case RULE_TASKS:
			if (!threads && tune_threads_resolve(rules, plan, warn))
				warn("no-threads", "there is no /proc to read threads from");
			threads = true;
			break;
		case RULE_INTERRUPTS:
		case RULE_INTERRUPT:
			if (!interrupts)
				tune_interrupts_resolve(rules, plan);
			interrupts = true;
			break;
		case RULE_FILE:
			tune_files_resolve(rule, plan);
			break;
		case RULE_PARTITION:
			tune_partition_resolve(rules, plan);
			break;
		case RULE_IRQBALANCE:
			tune_irqbalance_resolve(rules, plan);
			break;
		case RULE_BOOT:
			tune_boot_resolve(rules, plan);
			break;
		case RULE_LATENCY:
			tune_latency_resolve(rules, plan);
			break;
		default:
			break;
		}
		name_rule(plan, first, rules, rule);
	}
	for (unsigned int i = 0; i < rules->count; i++)
		warn_of_unmatched(&rules->rule[i], warn);
	if (plan->memory_short)
		warn("tune-cut", "out of memory: not all changes are planned");
}

/*
 * What was killed halfway, or was never put into effect, reads as if it were: it is planned once
 * more, from what it was before it was touched.
 */
static void plan_unfinished(struct tune_change *change, const struct journal_entry *holder)
{
	char *old_value, why[TUNE_WHY_SIZE];

	if (!change->kind->effect ||
	    change->kind->effect(change->key, change->new_value, why, sizeof(why)) != EFFECT_NONE)
		return;
	old_value = strdup(holder->change.old_value);
	if (!old_value)
		return;
	free(change->old_value);
	change->old_value = old_value;
	change->state = TUNE_PLANNED;
}

void tune_claim(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first)
{
	for (size_t i = first; i < plan->count; i++) {
		struct tune_change *change = &plan->change[i];
		struct journal_entry *holder;

		if (!change->profile)
			change->profile = strdup(profile);
		if (change->state != TUNE_IN_EFFECT)
			continue;
		holder = journal_holder(journal, change->kind, change->key);
		if (!holder)
			continue;
		if (!strcmp(holder->change.profile, profile)) {
			holder->change.rule = change->rule;
			plan_unfinished(change, holder);
			continue;
		}
		change->state = TUNE_PLANNED;
		snprintf(change->why, sizeof(change->why),
			 "the profile %.64s has done it already; it stays until both are undone",
			 holder->change.profile);
	}
	tune_plan_drop(plan, first, TUNE_IN_EFFECT);
}

int tune_may(const struct tune_plan *plan, char *error, size_t error_size)
{
	const struct tune_change *first = NULL;
	char what[256], where[256];
	const char *lacks = NULL;
	unsigned int count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct tune_change *change = &plan->change[i];
		const char *lacking =
			change->state == TUNE_PLANNED && change->kind->lacking ?
				change->kind->lacking(change->key, change->new_value) :
				NULL;

		if (!lacking || (lacks && strcmp(lacks, lacking) != 0))
			continue;
		lacks = lacking;
		if (!count++)
			first = change;
	}
	if (!count)
		return 0;
	first->kind->describe(first->key, what, where, sizeof(what));
	tune_plain(what);
	snprintf(error, error_size,
		 "%u of %zu changes need %s, which this user does not have, among them %s of %.200s; nothing was changed: run as root",
		 count, plan->count, lacks, first->kind->name, what);
	return -1;
}

const char *tune_running_rival(const struct tune_kind *kind)
{
	for (const char *const *rival = kind->rivals; rival && *rival; rival++) {
		if (process_is_running(*rival))
			return *rival;
	}
	return NULL;
}

void tune_warn_of_rivals(const struct tune_plan *plan, warn_fn *warn)
{
	for (size_t i = 0; tune_kinds[i]; i++) {
		const char *rival = tune_running_rival(tune_kinds[i]);
		unsigned int count = 0;
		char text[320];

		for (size_t j = 0; rival && j < plan->count; j++)
			count += plan->change[j].kind == tune_kinds[i] &&
				 plan->change[j].state == TUNE_PLANNED;
		if (!count)
			continue;
		snprintf(text, sizeof(text),
			 "%s is running and may undo changes of the kind %s (%u here): stop it, configure it there, or use hold, which sets them again",
			 rival, tune_kinds[i]->name, count);
		warn("rival-running", text);
	}
}

static void fail(struct tune_change *change, int error)
{
	const char *immovable = change->kind->immovable ? change->kind->immovable(error) : NULL;

	change->state = error == ESRCH ? TUNE_GONE : immovable ? TUNE_IMMOVABLE : TUNE_FAILED;
	snprintf(change->why, sizeof(change->why), "%s",
		 immovable ? immovable : tune_error_text(change->kind, error));
}

/* The thread became another user's or another program while it was changed. */
static void give_back(struct tune_change *change)
{
	int error = change->kind->write(change->key, change->old_value);

	change->state = error && error != ESRCH ? TUNE_NOT_HELD : TUNE_GONE;
	snprintf(change->why, sizeof(change->why), UNWANTED "; %s%s",
		 error ? "its old value could not be restored: " : "its old value was restored",
		 error ? strerror(error) : "");
}

/* Whether it is as it was made; @when: at what time it is read. */
static void check(struct tune_change *change, const char *when)
{
	char value[TUNE_VALUE_SIZE];
	int error = change->kind->read(change->key, value, sizeof(value));
	const char *rival;

	if (!error && !tune_thread_is_wanted(change)) {
		give_back(change);
		return;
	}

	if (error == ESRCH)
		fail(change, error);
	else if (error)
		snprintf(change->why, sizeof(change->why), "it cannot be read back: %s",
			 strerror(error));
	if (error)
		return;
	if (tune_same(change->kind, value, change->new_value)) {
		if (change->kind->effect &&
		    change->kind->effect(change->key, value, change->why, sizeof(change->why)) ==
			    EFFECT_NONE)
			change->state = TUNE_NOT_HELD;
		return;
	}
	if (change->kind->delayed && tune_same(change->kind, value, change->old_value)) {
		snprintf(change->why, sizeof(change->why), "%s", change->kind->delayed);
		return;
	}
	change->state = TUNE_NOT_HELD;
	rival = tune_running_rival(change->kind);
	snprintf(change->why, sizeof(change->why), "%s it is %.100s%s%s%s", when, value,
		 rival ? ": likely by " : "", rival ? rival : "",
		 rival ? ", which is running" : "");
}

static void make(struct tune_change *change)
{
	int error = 0;

	if (change->kind == &tune_side_effect) {
		change->state = TUNE_APPLIED; /* by the kernel, with its cause */
		return;
	}
	if (!tune_thread_is_wanted(change)) {
		change->state = TUNE_GONE;
		snprintf(change->why, sizeof(change->why), UNWANTED "; it was left as it is");
		return;
	}
	if (strcmp(change->old_value, change->new_value) != 0)
		error = tune_write(change->kind, change->key, change->old_value, change->new_value);
	if (error) {
		fail(change, error);
		return;
	}
	change->state = TUNE_APPLIED;
	check(change, "right after it was written");
}

int tune_make(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first,
	      char *error, size_t error_size)
{
	tune_side_effects_plan(plan, first);
	if (journal_add(journal, profile, plan, first, error, error_size))
		return -1;
	for (size_t i = first; i < plan->count && !tune_interrupted(); i++) {
		if (plan->change[i].state == TUNE_PLANNED)
			make(&plan->change[i]);
	}
	tune_side_effects_note(journal, plan, first);
	return 0;
}

void tune_forget_unmade(struct journal *journal, const struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct tune_change *change = &plan->change[i];
		struct journal_entry *entry =
			change->number ? journal_find(journal, change->number) : NULL;

		if (entry && (change->state == TUNE_FAILED || change->state == TUNE_IMMOVABLE ||
			      change->state == TUNE_GONE))
			journal_forget(journal, entry);
	}
}

bool tune_check_again(struct journal *journal, struct tune_plan *plan)
{
	bool held = true;

	for (size_t i = 0; i < plan->count; i++) {
		struct tune_change *change = &plan->change[i];

		if (change->state == TUNE_APPLIED)
			check(change, "a second later");
		held &= change->state != TUNE_FAILED && change->state != TUNE_NOT_HELD;
	}
	tune_forget_unmade(journal, plan);
	return held;
}

bool tune_interrupted(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

void tune_wait(uint64_t ns)
{
	const struct timespec tick = ns_to_timespec(TICK_NS);
	uint64_t end_ns = clock_now_ns() + ns;

	while (clock_now_ns() < end_ns && !tune_interrupted())
		nanosleep(&tick, NULL);
}
