// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuning for the time of one measurement.
 *
 * Under the profile "measurement", and with the journal locked until the end, so
 * that nobody tunes the machine in between. The loads run by then, and are moved
 * like all other threads; the agent's own are not, but for the one that keeps
 * house, which goes where the others go.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "proc/cpus.h"
#include "tune/apply.h"
#include "tune/journal_folder.h"
#include "tune/latency.h"
#include "tune/session.h"

#define PROFILE "measurement"

static struct tune_rules rules = { .profile = PROFILE };
static struct journal journal = { .directory = -1, .fd = -1 };
static struct tune_plan plan;
static unsigned int failed;
static tune_report_fn *report;

int tune_session_parse(char **words, unsigned int count, char *error, size_t error_size)
{
	return count ? tune_rules_parse(words, count, &rules, error, error_size) : 0;
}

uint64_t tune_session_latency_ns(void)
{
	return tune_latency_limit_ns(&rules);
}

/* No boot comes between here and the end. */
static void drop_boot(warn_fn *warn)
{
	if (tune_rules_leave_out(&rules, RULE_BOOT))
		warn("tune-boot",
		     "parameters of the kernel count from the next boot on, so they are not part of this measurement: apply them, boot and measure again");
}

static void report_plan(void)
{
	for (size_t i = 0; i < plan.count; i++) {
		if (plan.change[i].kind != &tune_side_effect)
			report(&plan.change[i]);
	}
}

int tune_session_dry_run(const char *folder, tune_report_fn *to, warn_fn *warn, char *error,
			 size_t error_size)
{
	drop_boot(warn);
	if (!rules.count)
		return 0;
	tune_resolve(&rules, &plan, warn);
	tune_claim(&journal, PROFILE, &plan, 0);
	report = to;
	report_plan();
	if (tune_may(&plan, error, error_size))
		return -1;
	return journal_may(folder, error, error_size);
}

static void count_failed(const struct tune_change *change)
{
	failed += change->state == TUNE_FAILED;
}

/* A setting that others changed while the probe measured belongs to the run's result. */
static void report_unlike(const struct tune_change *change)
{
	count_failed(change);
	if (change->state == TUNE_LEFT || change->state == TUNE_FAILED)
		report(change);
}

static void move_away(void)
{
	cpu_set_t cpus;

	for (unsigned int i = 0; i < rules.count; i++) {
		if (rules.rule[i].kind != RULE_TASKS || sched_getaffinity(0, sizeof(cpus), &cpus))
			continue;
		cpus_leave(&cpus, &rules.rule[i].cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
}

static void warn_of_not_held(warn_fn *warn)
{
	const struct tune_change *first = NULL;
	char text[512], what[256], where[256];
	unsigned int count = 0;

	for (size_t i = plan.count; i--;) {
		if (plan.change[i].state != TUNE_NOT_HELD && plan.change[i].state != TUNE_FAILED)
			continue;
		first = &plan.change[i];
		count++;
	}
	if (!count)
		return;
	first->kind->describe(first->key, what, where, sizeof(what));
	snprintf(text, sizeof(text),
		 "%u of %zu changes of the machine did not hold while it was measured, the first of them %.100s: %.250s",
		 count, plan.count, what, first->why);
	tune_plain(text);
	warn("tune-not-held", text);
}

static void warn_of_not_restored(warn_fn *warn)
{
	char text[192];

	if (!failed)
		return;
	snprintf(text, sizeof(text),
		 "changes not restored: %u; rtscope-agent tune undo --profile " PROFILE
		 " lists them and tries again",
		 failed);
	warn("tune-not-restored", text);
}

int tune_session_begin(const char *folder, tune_report_fn *to, warn_fn *warn, char *error,
		       size_t error_size)
{
	drop_boot(warn);
	if (!rules.count)
		return 0;
	report = to;
	if (journal_open(&journal, folder, true, warn, error, error_size))
		return -1;
	tune_undo(&journal, PROFILE, NULL, count_failed); /* of one that was killed */
	warn_of_not_restored(warn);
	tune_resolve(&rules, &plan, warn);
	tune_claim(&journal, PROFILE, &plan, 0);
	if (tune_may(&plan, error, error_size) ||
	    tune_make(&journal, PROFILE, &plan, 0, error, error_size))
		return -1;
	move_away();
	if (plan.count)
		tune_wait(NSEC_PER_SEC);
	tune_check_again(&journal, &plan);
	warn_of_not_held(warn);
	report_plan();
	return 0;
}

void tune_session_end(warn_fn *warn)
{
	if (journal.directory < 0)
		return;
	failed = 0;
	tune_undo(&journal, PROFILE, NULL, report_unlike);
	journal_close(&journal);
	warn_of_not_restored(warn);
}
