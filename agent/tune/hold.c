// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeping rules in effect while threads, interrupts and CPUs come and go.
 *
 * It sleeps until the kernel tells of something new. Then it waits a moment:
 * what comes seldom comes alone, and a thread of the kernel's own, an interrupt's
 * too, is told of before it has its name. What is new is looked at once more a
 * second or two later, for such threads, and many programs, set their own policy
 * when they begin to run. When there is nothing new it does not run at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/cpus.h"
#include "tune/hold.h"
#include "tune/interrupts.h"
#include "tune/threads.h"

#define MOMENT_MS 10
#define AGAIN_NS  NSEC_PER_SEC
#define TIDY_MIN  1024

enum heard {
	HEARD_END,
	HEARD_NEWS,
	HEARD_NOTHING,
};

/* What comes is seen to where the work for it disturbs nobody. */
static void keep_aside(const struct tune_rules *rules)
{
	const struct sched_param none = { 0 };
	cpu_set_t cpus;

	cpus_online(&cpus);
	for (unsigned int i = 0; i < rules->count; i++) {
		const struct tune_rule *rule = &rules->rule[i];

		if (rule->kind == RULE_TASKS || rule->kind == RULE_INTERRUPTS ||
		    rule->kind == RULE_PARTITION)
			cpulist_less(&cpus, &rule->cpus);
	}
	if (CPU_COUNT(&cpus))
		sched_setaffinity(0, sizeof(cpus), &cpus);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

static enum monitored_threads wanted_threads(const struct tune_rules *rules)
{
	if (tune_rules_have(rules, RULE_THREAD) || tune_rules_have(rules, RULE_TASKS))
		return MONITOR_ALL_THREADS;
	if (tune_rules_have(rules, RULE_INTERRUPT) || tune_rules_have(rules, RULE_INTERRUPTS))
		return MONITOR_KERNEL_THREADS;
	return MONITOR_NO_THREADS;
}

int hold_begin(struct holding *holding, char *error, size_t error_size)
{
	holding->tidy_at = TIDY_MIN;
	keep_aside(holding->rules);
	return monitor_open(&holding->from, wanted_threads(holding->rules), error, error_size);
}

/* Wait for @news, or else only for the end; @limit_ms below 0: without limit. */
static enum heard wait_for(const struct holding *holding, int signals, bool news, int limit_ms)
{
	struct pollfd from[2 + MONITOR_SOURCES] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};

	for (unsigned int i = 0; i < MONITOR_SOURCES; i++)
		from[2 + i] =
			(struct pollfd){ .fd = news ? holding->from.fd[i] : -1, .events = POLLIN };
	if (poll(from, 2 + MONITOR_SOURCES, limit_ms) <= 0)
		return HEARD_NOTHING;
	return from[0].revents || from[1].revents ? HEARD_END : HEARD_NEWS;
}

static bool is_interrupts(int tid)
{
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	return file_text(AT_FDCWD, path, name, sizeof(name)) && !strncmp(name, "irq/", 4);
}

static void tell_nobody(const char *code, const char *text)
{
	(void)code;
	(void)text;
}

static bool is_of_thread(const struct tune_kind *kind)
{
	return kind == &tune_thread_policy || kind == &tune_thread_nice ||
	       kind == &tune_thread_cpus;
}

/* Restore threads that a rule named until they became another user's or another program. */
static void release(const struct holding *holding, const struct monitor_events *news)
{
	struct journal *journal = holding->journal;

	for (size_t i = journal->count; i--;) {
		struct tune_change released = { .number = journal->entry[i].change.number };
		const struct tune_plan only = { .change = &released, .count = 1 };
		const struct tune_change *change = &journal->entry[i].change;
		bool is_news = news->everything;

		for (unsigned int j = 0; j < news->count && !is_news; j++)
			is_news = news->tid[j] == atoi(change->key);
		if (is_news && !journal->entry[i].undone && is_of_thread(change->kind) &&
		    !tune_thread_is_wanted(change))
			tune_undo(journal, holding->profile, &only, holding->report);
	}
}

static void resolve(const struct holding *holding, const struct monitor_events *news,
		    struct tune_plan *plan)
{
	bool interrupts = news->interrupts;

	if (news->everything) {
		tune_resolve(holding->rules, plan, tell_nobody);
		return;
	}
	for (unsigned int i = 0; i < news->count; i++) {
		tune_thread_resolve(holding->rules, news->tid[i], plan);
		interrupts |= is_interrupts(news->tid[i]);
	}
	if (interrupts)
		tune_interrupts_resolve(holding->rules, plan);
}

/* What is held for months has seen many threads end. */
static void tidy(struct holding *holding)
{
	char value[TUNE_VALUE_SIZE];

	if (holding->journal->count < holding->tidy_at)
		return;
	for (size_t i = 0; i < holding->journal->count; i++) {
		struct journal_entry *entry = &holding->journal->entry[i];
		const struct tune_change *change = &entry->change;

		if (!entry->undone && !entry->stale &&
		    change->kind->read(change->key, value, sizeof(value)) == ESRCH)
			journal_forget(holding->journal, entry);
	}
	journal_compact(holding->journal);
	holding->tidy_at = 2 * holding->journal->count + TIDY_MIN;
}

/* What belongs on CPUs that are unplugged is seen to when they are back. */
static void leave_unplugged(struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct tune_change *change = &plan->change[i];

		if (change->kind->given_up && change->kind->given_up(change->new_value))
			change->state = TUNE_IMMOVABLE;
	}
}

/* Have the rules in effect for @news; -1 with a sentence where the journal cannot be written. */
static int settle(struct holding *holding, const struct monitor_events *news, char *error,
		  size_t error_size)
{
	struct tune_plan plan = { 0 };
	int failed = 0;

	release(holding, news);
	resolve(holding, news, &plan);
	tune_claim(holding->journal, holding->profile, &plan, 0);
	leave_unplugged(&plan);
	tune_plan_drop(&plan, 0, TUNE_IMMOVABLE); /* as all others of the kind */
	if (plan.count)
		failed = tune_make(holding->journal, holding->profile, &plan, 0, error, error_size);
	if (!failed)
		tune_forget_unmade(holding->journal, &plan);
	for (size_t i = 0; i < plan.count && !failed; i++) {
		if (plan.change[i].kind != &tune_side_effect)
			holding->report(&plan.change[i]);
	}
	tune_plan_clear(&plan);
	tidy(holding);
	return failed;
}

static bool is_empty(const struct monitor_events *news)
{
	return !news->everything && !news->interrupts && !news->count;
}

static int until(uint64_t at_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (!at_ns)
		return -1;
	return at_ns <= now_ns ? 0 : (int)((at_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

/*
 * Returns 1 when the holding has come to its end. The first that is looked at again is all that the
 * rules were applied to when it began.
 */
static int look(struct holding *holding, int signals, char *error, size_t error_size)
{
	static struct monitor_events fresh, old, young = { .everything = true };
	static uint64_t again_ns; /* 0: there is nothing to look at again */
	enum heard heard = wait_for(holding, signals, true, until(again_ns));

	if (heard == HEARD_NEWS) {
		heard = wait_for(holding, signals, false, MOMENT_MS);
		fresh = (struct monitor_events){ 0 };
		monitor_read(&holding->from, &fresh);
		monitor_events_add(&young, &fresh);
		if (heard != HEARD_END && settle(holding, &fresh, error, error_size))
			return -1;
	}
	if (heard == HEARD_END)
		return 1;
	if (again_ns && clock_now_ns() >= again_ns) {
		if (settle(holding, &old, error, error_size))
			return -1;
		old = young;
		young = (struct monitor_events){ 0 };
		again_ns = 0;
	}
	if (!again_ns && (!is_empty(&old) || !is_empty(&young)))
		again_ns = clock_now_ns() + AGAIN_NS;
	return 0;
}

int hold_on(struct holding *holding, char *error, size_t error_size)
{
	int signals, ended = 0;
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	signals = signalfd(-1, &ending, SFD_CLOEXEC);
	if (signals < 0) {
		snprintf(error, error_size, "no signal could be waited for: %s", strerror(errno));
		return -1;
	}
	while (!ended)
		ended = look(holding, signals, error, error_size);
	close(signals);
	return ended > 0 ? 0 : -1;
}
