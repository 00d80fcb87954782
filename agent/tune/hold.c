// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeping rules in effect while threads, interrupts and CPUs come and go.
 *
 * It sleeps until the monitor reports an event. Then it waits 10 ms, because
 * events come in groups, and a kernel thread is reported before it has its name.
 * Everything new is checked again a second or two later, because kernel threads
 * and many programs set their own policy when they begin to run. Without events
 * it runs only to check, at the interval --poll, what others have set back.
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
#include "tune/set_back.h"
#include "tune/threads.h"

#define GROUP_MS   10 /* events come in groups */
#define RECHECK_NS NSEC_PER_SEC
#define DROP_MIN   1024

enum wake_up {
	WAKE_END,
	WAKE_EVENTS,
	WAKE_TIMEOUT,
};

/* This thread does its work where it disturbs nobody. */
static void leave_reserved_cpus(const struct tune_rules *rules)
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
	holding->drop_at = DROP_MIN;
	leave_reserved_cpus(holding->rules);
	return monitor_open(&holding->monitor, wanted_threads(holding->rules), error, error_size);
}

/* Wait for the end and, if @events, for events; @limit_ms below 0: without limit. */
static enum wake_up wait_for(const struct holding *holding, int signals, bool events, int limit_ms)
{
	struct pollfd from[2 + MONITOR_SOURCES] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};

	for (unsigned int i = 0; i < MONITOR_SOURCES; i++)
		from[2 + i] = (struct pollfd){ .fd = events ? holding->monitor.fd[i] : -1,
					       .events = POLLIN };
	if (poll(from, 2 + MONITOR_SOURCES, limit_ms) <= 0)
		return WAKE_TIMEOUT;
	return from[0].revents || from[1].revents ? WAKE_END : WAKE_EVENTS;
}

static bool is_interrupts(int tid)
{
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	return file_text(AT_FDCWD, path, name, sizeof(name)) && !strncmp(name, "irq/", 4);
}

static void ignore(const char *code, const char *text)
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
static void release(const struct holding *holding, const struct monitor_events *events)
{
	struct journal *journal = holding->journal;

	for (size_t i = journal->count; i--;) {
		struct tune_change released = { .number = journal->entry[i].change.number };
		const struct tune_plan only = { .change = &released, .count = 1 };
		const struct tune_change *change = &journal->entry[i].change;
		bool is_new = events->everything;

		for (unsigned int j = 0; j < events->count && !is_new; j++)
			is_new = events->tid[j] == atoi(change->key);
		if (is_new && !journal->entry[i].undone && is_of_thread(change->kind) &&
		    !tune_thread_is_wanted(change))
			tune_undo(journal, holding->profile, &only, holding->report);
	}
}

static void resolve(const struct holding *holding, const struct monitor_events *events,
		    struct tune_plan *plan)
{
	bool interrupts = events->interrupts;

	if (events->everything) {
		tune_resolve(holding->rules, plan, ignore);
		return;
	}
	for (unsigned int i = 0; i < events->count; i++) {
		tune_thread_resolve(holding->rules, events->tid[i], plan);
		interrupts |= is_interrupts(events->tid[i]);
	}
	if (interrupts)
		tune_interrupts_resolve(holding->rules, plan);
}

/* In months many threads end: drop their entries from the journal. */
static void drop_ended(struct holding *holding)
{
	char value[TUNE_VALUE_SIZE];

	if (holding->journal->count < holding->drop_at)
		return;
	for (size_t i = 0; i < holding->journal->count; i++) {
		struct journal_entry *entry = &holding->journal->entry[i];
		const struct tune_change *change = &entry->change;

		if (!entry->undone && !entry->stale &&
		    change->kind->read(change->key, value, sizeof(value)) == ESRCH)
			journal_forget(holding->journal, entry);
	}
	journal_compact(holding->journal);
	holding->drop_at = 2 * holding->journal->count + DROP_MIN;
}

/* Threads and interrupts of CPUs that are unplugged are handled when the CPUs are back. */
static void leave_unplugged(struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct tune_change *change = &plan->change[i];

		if (change->kind->given_up && change->kind->given_up(change->new_value))
			change->state = TUNE_IMMOVABLE;
	}
}

/* Put the rules into effect for @events; -1 with a sentence where the journal cannot be written. */
static int settle(struct holding *holding, const struct monitor_events *events, char *error,
		  size_t error_size)
{
	struct tune_plan plan = { 0 };
	int failed = 0;

	release(holding, events);
	resolve(holding, events, &plan);
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
	drop_ended(holding);
	return failed;
}

static bool is_empty(const struct monitor_events *events)
{
	return !events->everything && !events->interrupts && !events->count;
}

static uint64_t sooner(uint64_t one_ns, uint64_t other_ns)
{
	return !one_ns || (other_ns && other_ns < one_ns) ? other_ns : one_ns;
}

static void poll_settings(struct holding *holding)
{
	if (!holding->poll_due_ns || clock_now_ns() < holding->poll_due_ns)
		return;
	tune_set_again(holding->journal, holding->profile, holding->poll_ns, holding->report);
	holding->poll_due_ns = clock_now_ns() + holding->poll_ns;
}

static int until(uint64_t at_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (!at_ns)
		return -1;
	return at_ns <= now_ns ? 0 : (int)((at_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

/*
 * Handle one wake-up. Returns 1 at the end, -1 with a sentence in @error. The first recheck is of
 * everything that the rules were applied to at the beginning.
 */
static int handle_wake_up(struct holding *holding, int signals, char *error, size_t error_size)
{
	static struct monitor_events fresh, old, young = { .everything = true };
	static uint64_t again_ns; /* 0: nothing has to be checked again */
	enum wake_up reason =
		wait_for(holding, signals, true, until(sooner(again_ns, holding->poll_due_ns)));

	if (reason == WAKE_EVENTS) {
		reason = wait_for(holding, signals, false, GROUP_MS);
		fresh = (struct monitor_events){ 0 };
		monitor_read(&holding->monitor, &fresh);
		monitor_events_add(&young, &fresh);
		if (reason != WAKE_END && settle(holding, &fresh, error, error_size))
			return -1;
	}
	if (reason == WAKE_END)
		return 1;
	if (again_ns && clock_now_ns() >= again_ns) {
		if (settle(holding, &old, error, error_size))
			return -1;
		old = young;
		young = (struct monitor_events){ 0 };
		again_ns = 0;
	}
	poll_settings(holding);
	if (!again_ns && (!is_empty(&old) || !is_empty(&young)))
		again_ns = clock_now_ns() + RECHECK_NS;
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
		snprintf(error, error_size, "cannot wait for signals: %s", strerror(errno));
		return -1;
	}
	if (holding->poll_ns)
		holding->poll_due_ns = clock_now_ns() + holding->poll_ns;
	while (!ended)
		ended = handle_wake_up(holding, signals, error, error_size);
	close(signals);
	return ended > 0 ? 0 : -1;
}
