// SPDX-License-Identifier: GPL-2.0-only
/* Which rules want what of a thread or an interrupt. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pattern.h"
#include "proc/cpus.h"
#include "tune/rules.h"

void tune_rules_free(struct tune_rules *rules)
{
	while (rules->count)
		free(rules->rule[--rules->count].cut);
	free(rules->rule);
	rules->rule = NULL;
}

bool tune_rules_leave_out(struct tune_rules *rules, enum tune_rule_kind kind)
{
	unsigned int kept = 0, count = rules->count;

	for (unsigned int i = 0; i < count; i++) {
		if (rules->rule[i].kind == kind)
			free(rules->rule[i].cut);
		else
			rules->rule[kept++] = rules->rule[i];
	}
	rules->count = kept;
	return kept < count;
}

bool tune_rules_have(const struct tune_rules *rules, enum tune_rule_kind kind)
{
	for (unsigned int i = 0; i < rules->count; i++) {
		if (rules->rule[i].kind == kind)
			return true;
	}
	return false;
}

void tune_rules_cpus(const struct tune_rules *rules, enum tune_rule_kind kind, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	for (unsigned int i = 0; i < rules->count; i++) {
		if (rules->rule[i].kind == kind)
			CPU_OR(cpus, cpus, &rules->rule[i].cpus);
	}
}

static bool rule_names_thread(const struct tune_rule *rule, const char *name, bool kernel)
{
	return rule->kind == RULE_THREAD &&
	       rule->owner != (kernel ? OWNER_PROGRAM : OWNER_KERNEL) &&
	       pattern_fits(name, rule->name, strlen(rule->name));
}

static void wish_cpus(struct tune_wish *wish, const cpu_set_t *cpus, const struct tune_rule *rule)
{
	wish->has_cpus = true;
	wish->explicit_cpus = rule->kind == RULE_THREAD;
	wish->cpus = *cpus;
	wish->cpus_by = rule;
}

bool tune_rules_name_thread(const struct tune_rules *rules, const char *name, bool kernel)
{
	for (unsigned int i = 0; i < rules->count; i++) {
		if (rule_names_thread(&rules->rule[i], name, kernel))
			return true;
	}
	return false;
}

static bool has_ids(const struct thread_identity *identity, uint32_t uid)
{
	for (int i = 0; i < THREAD_IDS; i++) {
		if (identity->uid[i] != uid)
			return false;
	}
	return true;
}

bool tune_rule_wants_thread(const struct tune_rule *rule, const char *name,
			    const struct thread_identity *identity)
{
	if (!rule_names_thread(rule, name, !identity))
		return false;
	if (!identity)
		return !rule->has_uid && !rule->executable;
	if (rule->executable &&
	    !pattern_fits(identity->executable, rule->executable, strlen(rule->executable)))
		return false;
	return rule->has_uid ? has_ids(identity, rule->uid) :
			       has_ids(identity, 0) || has_ids(identity, geteuid());
}

void tune_rules_match_thread(const struct tune_rules *rules, const char *name, bool kernel,
			     const struct thread_identity *identity, const cpu_set_t *cpus,
			     struct tune_wish *wish)
{
	cpu_set_t away;

	CPU_ZERO(&away);
	*wish = (struct tune_wish){ .policy = -1 };
	for (unsigned int i = 0; i < rules->count; i++) {
		struct tune_rule *rule = &rules->rule[i];

		if (rule->kind == RULE_TASKS) {
			cpu_set_t left = *cpus;

			rule->matched = true;
			CPU_OR(&away, &away, &rule->cpus);
			cpus_leave(&left, &away);
			wish_cpus(wish, &left, rule);
		}
		if (!rule_names_thread(rule, name, kernel))
			continue;
		if (!(kernel || identity) || !tune_rule_wants_thread(rule, name, identity)) {
			rule->passed_over++;
			continue;
		}
		rule->matched = true;
		if (rule->policy >= 0) {
			wish->policy = rule->policy;
			wish->priority = rule->priority;
			wish->policy_by = rule;
		}
		if (rule->has_nice) {
			wish->has_nice = true;
			wish->nice = rule->nice;
			wish->nice_by = rule;
		}
		if (rule->has_cpus)
			wish_cpus(wish, &rule->cpus, rule);
	}
}

static bool rule_names_interrupt(const struct tune_rule *rule, const char *const *names)
{
	for (; rule->kind == RULE_INTERRUPT && *names; names++) {
		if (pattern_fits(*names, rule->name, strlen(rule->name)))
			return true;
	}
	return false;
}

const struct tune_rule *tune_rules_match_interrupt(const struct tune_rules *rules,
						   const char *const *names, cpu_set_t *cpus)
{
	const cpu_set_t before = *cpus;
	const struct tune_rule *decides = NULL;
	cpu_set_t away;

	CPU_ZERO(&away);
	for (unsigned int i = 0; i < rules->count; i++) {
		struct tune_rule *rule = &rules->rule[i];

		if (rule->kind == RULE_INTERRUPTS) {
			rule->matched = true;
			decides = rule;
			*cpus = before;
			CPU_OR(&away, &away, &rule->cpus);
			cpus_leave(cpus, &away);
		}
		if (rule_names_interrupt(rule, names)) {
			rule->matched = true;
			decides = rule;
			*cpus = rule->cpus;
		}
	}
	return decides;
}
