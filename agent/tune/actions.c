// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the verb tune does.
 *
 * The changes of the rules are found first, then all of them are written into the journal, then
 * each is made and checked. So undo finds what to restore, whatever ends this program in between.
 * An interrupted apply restores what it has made itself.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tune/actions.h"
#include "tune/apply.h"
#include "tune/hold.h"
#include "tune/output.h"

#define PASSES_MAX 4
#define CHECK_NS   NSEC_PER_SEC

static struct tune_request *request;
static struct journal journal;
static struct tune_plan plan;

static int end(int status)
{
	journal_close(&journal);
	tune_plan_clear(&plan);
	return tune_output_end(status) ? status :
					 tune_fail(1, "the output could not be written in full");
}

/* The hello comes first: opening the journal may warn. */
int tune_show(struct tune_request *asked)
{
	char error[512];

	request = asked;
	tune_output_begin(request->json);
	/* Without the journal, only what other profiles have changed is left out. */
	if (journal_open(&journal, request->journal, false, tune_output_warn, error, sizeof(error)))
		tune_output_warn("journal-unread", error);
	tune_resolve(&request->rules, &plan, tune_output_warn);
	tune_claim(&journal, request->profile, &plan, 0);
	tune_warn_of_rivals(&plan, tune_output_warn);
	tune_output_plan(&plan);
	return end(0);
}

static void ignore(const char *code, const char *text)
{
	(void)code;
	(void)text;
}

/* Another pass finds threads that others, not moved yet, have started in the meantime. */
static int make_all(char *error, size_t error_size)
{
	for (unsigned int pass = 0; pass < PASSES_MAX && !tune_interrupted(); pass++) {
		size_t first = plan.count;

		tune_resolve(&request->rules, &plan, pass ? ignore : tune_output_warn);
		tune_claim(&journal, request->profile, &plan, first);
		if (plan.count == first)
			return 0;
		if (!pass && tune_may(&plan, error, error_size))
			return -1;
		if (!pass)
			tune_warn_of_rivals(&plan, tune_output_warn);
		if (tune_make(&journal, request->profile, &plan, first, error, error_size))
			return -1;
	}
	return 0;
}

static struct {
	unsigned int restored, left, failed;
} undone;

static void report_undone(const struct tune_change *change)
{
	undone.restored += change->state == TUNE_RESTORED;
	undone.left += change->state == TUNE_LEFT;
	undone.failed += change->state == TUNE_FAILED;
	tune_output_change(change);
}

/* Undo what was made so far, because of @why, and print what became of it. */
static int abandon(const char *why)
{
	char text[768];
	size_t used = (size_t)snprintf(text, sizeof(text), "%.400s", why);

	tune_undo(&journal, request->profile, &plan, report_undone);
	end(1);
	if (undone.restored || undone.left || undone.failed)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; changes restored: %u",
					 undone.restored);
	if (undone.left)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 ", left because others changed them since: %u",
					 undone.left);
	if (undone.failed)
		snprintf(text + used, sizeof(text) - used,
			 ", not restored: %u, try again with rtscope-agent tune undo --profile %s",
			 undone.failed, request->profile);
	return tune_fail(1, text);
}

int tune_apply(struct tune_request *asked)
{
	char error[512];
	bool held;

	request = asked;
	tune_output_begin(request->json);
	if (journal_open(&journal, request->journal, true, tune_output_warn, error, sizeof(error)))
		return tune_fail(1, error);
	if (tune_rules_leave_out(&request->rules, RULE_LATENCY))
		tune_output_warn("latency-not-kept",
				 "the kernel keeps a limit of idle states only while a program holds it, so it is left out: use hold");
	if (make_all(error, sizeof(error)))
		return abandon(error);
	if (plan.count)
		tune_wait(CHECK_NS);
	if (tune_interrupted())
		return abandon("interrupted");
	held = tune_check_again(&journal, &plan);
	tune_output_plan(&plan);
	return end(!held);
}

static void report_set_back(const struct tune_change *change)
{
	if (change->state == TUNE_SET_BACK)
		tune_output_change(change);
}

int tune_hold(struct tune_request *asked)
{
	struct holding holding = {
		.rules = &asked->rules,
		.journal = &journal,
		.profile = asked->profile,
		.report = tune_output_change,
		.poll_ns = asked->poll_ns,
	};
	char error[512];
	bool restored;
	int failed, result;

	request = asked;
	failed = tune_output_queue();
	if (failed)
		return tune_fail(1, strerror(failed));
	tune_output_begin(request->json);
	if (journal_open(&journal, request->journal, true, tune_output_warn, error, sizeof(error)))
		return tune_fail(1, error);
	if (tune_rules_leave_out(&request->rules, RULE_BOOT))
		tune_output_warn("boot-not-held",
				 "parameters of the kernel count from a boot on, so they are left out: use apply");
	if (hold_begin(&holding, error, sizeof(error)) || make_all(error, sizeof(error)))
		return abandon(error);
	tune_wait(CHECK_NS);
	tune_check_again(&journal, &plan);
	tune_output_plan(&plan);
	tune_output_may_drop(true);
	failed = hold_on(&holding, error, sizeof(error));
	tune_output_may_drop(false);
	if (request->keep && !failed)
		tune_status(&journal, request->profile, report_set_back);
	restored = (request->keep && !failed) ||
		   tune_undo(&journal, request->profile, NULL, tune_output_change);
	tune_output_report_dropped();
	result = end(failed || !restored);
	return failed ? tune_fail(1, error) : result;
}

/* List the names of all profiles in effect in @text; empty for none. */
static void list_profiles(char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < journal.count && used < size; i++) {
		const struct journal_entry *entry = &journal.entry[i];
		bool listed = entry->undone;

		for (size_t before = 0; before < i && !listed; before++)
			listed = !journal.entry[before].undone &&
				 !strcmp(journal.entry[before].change.profile,
					 entry->change.profile);
		if (!listed)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 entry->change.profile);
	}
}

static bool is_applied(const char *name)
{
	for (size_t i = 0; i < journal.count; i++) {
		if (!journal.entry[i].undone && !strcmp(journal.entry[i].change.profile, name))
			return true;
	}
	for (const struct journal_foreign *one = journal.foreign; one; one = one->next) {
		if (!one->undone && !strcmp(one->change.profile, name))
			return true;
	}
	return false;
}

int tune_undo_profile(struct tune_request *asked)
{
	char error[512], names[256];

	request = asked;
	tune_output_begin(request->json);
	if (journal_open(&journal, request->journal, true, tune_output_warn, error, sizeof(error)))
		return tune_fail(1, error);
	if (request->profile && !is_applied(request->profile)) {
		list_profiles(names, sizeof(names));
		snprintf(error, sizeof(error), "the profile %s is not applied here, %s%s",
			 request->profile, *names ? "but these are: " : "and none is", names);
		end(1);
		return tune_fail(1, error);
	}
	return end(!tune_undo(&journal, request->profile, NULL, tune_output_change));
}

static bool has_stale(void)
{
	for (size_t i = 0; i < journal.count; i++) {
		if (journal.entry[i].stale && !journal.entry[i].undone)
			return true;
	}
	return false;
}

/* The journal is changed only to drop what an earlier boot has ended. */
int tune_print_status(struct tune_request *asked)
{
	char error[512];

	request = asked;
	tune_output_begin(request->json);
	if (journal_open(&journal, request->journal, false, tune_output_warn, error, sizeof(error)))
		return tune_fail(1, error);
	if (has_stale()) {
		journal_close(&journal);
		if (journal_open(&journal, request->journal, true, tune_output_warn, error,
				 sizeof(error)) &&
		    journal_open(&journal, request->journal, false, tune_output_warn, error,
				 sizeof(error)))
			return tune_fail(1, error);
	}
	tune_status(&journal, request->profile, tune_output_change);
	return end(0);
}
