// SPDX-License-Identifier: GPL-2.0-only
/*
 * What threads have inherited from those that were tuned.
 *
 * A new thread inherits its parent's policy, niceness and CPUs, and would keep them
 * when the parent's own are restored. So a thread is restored with its nearest ancestor
 * in the journal if it has no entry, started after that ancestor was tuned, and has
 * exactly the inherited values. A thread that set the same values itself cannot be
 * distinguished from it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/threads_read.h"
#include "tune/inherited.h"
#include "tune/threads.h"

#define ANCESTORS_MAX 64
#define PASSES_MAX    4 /* for threads started meanwhile by one that was handled already */

static const struct tune_kind *const kinds[] = { &tune_thread_policy, &tune_thread_nice,
						 &tune_thread_cpus };

static const struct thread *find(const struct thread_list *list, int tid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->thread[i].tid == tid)
			return &list->thread[i];
	}
	return NULL;
}

/* That is restored, whether or not it is its last. */
static const struct journal_entry *
find_entry(const struct journal *journal, const struct tune_kind *kind, const struct thread *thread)
{
	char key[TUNE_THREAD_KEY_SIZE];

	tune_thread_key(thread, key);
	for (size_t i = journal->count; i--;) {
		const struct journal_entry *entry = &journal->entry[i];

		if (entry->change.kind == kind && !strcmp(entry->change.key, key))
			return entry;
	}
	return NULL;
}

/* Of the nearest ancestor that has one, where that is restored; NULL for a thread with its own. */
static const struct journal_entry *inherited_from(const struct journal *journal,
						  const struct tune_kind *kind,
						  const struct thread_list *list,
						  const struct thread *thread)
{
	const struct thread *ancestor = thread;
	const struct journal_entry *entry = NULL;

	if (find_entry(journal, kind, thread))
		return NULL;
	for (unsigned int i = 0; ancestor && !entry && i < ANCESTORS_MAX; i++) {
		ancestor = find(list,
				ancestor->tid == ancestor->pid ? ancestor->parent : ancestor->pid);
		entry = ancestor ? find_entry(journal, kind, ancestor) : NULL;
	}
	return entry && !entry->undone && entry->change.state == TUNE_RESTORED &&
			       entry->ticks <= thread->start_ticks ?
		       entry :
		       NULL;
}

static bool give_back(const struct journal_entry *entry, const struct thread *thread,
		      tune_report_fn *report)
{
	char key[TUNE_THREAD_KEY_SIZE], value[TUNE_VALUE_SIZE];
	struct tune_change change = entry->change;

	tune_thread_key(thread, key);
	if (change.kind->read(key, value, sizeof(value)) || strcmp(value, change.new_value) != 0 ||
	    !strcmp(change.new_value, change.old_value) ||
	    change.kind->write(key, change.old_value))
		return false;
	change.key = key;
	snprintf(change.why, sizeof(change.why),
		 "a changed thread started it, and it had inherited the change");
	report(&change);
	return true;
}

static bool is_thread_kind(const struct tune_kind *kind)
{
	return kind == kinds[0] || kind == kinds[1] || kind == kinds[2];
}

static bool any_restored(const struct journal *journal)
{
	for (size_t i = 0; i < journal->count; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (!entry->undone && entry->change.state == TUNE_RESTORED &&
		    is_thread_kind(entry->change.kind))
			return true;
	}
	return false;
}

void tune_undo_inherited(struct journal *journal, tune_report_fn *report)
{
	static struct thread_list list;
	bool found = any_restored(journal);

	for (unsigned int pass = 0; found && pass < PASSES_MAX && !threads_read(&list); pass++) {
		found = false;
		for (size_t i = 0; i < list.count; i++) {
			const struct thread *thread = &list.thread[i];

			for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
				const struct journal_entry *entry = NULL;

				if (!thread->bound && thread_irq(thread) < 0)
					entry = inherited_from(journal, kinds[kind], &list, thread);
				if (entry && give_back(entry, thread, report))
					found = true;
			}
		}
	}
}
