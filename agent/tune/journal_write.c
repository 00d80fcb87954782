// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing to the journal. The file only grows while it is open.
 *
 * All changes of a plan are on disk before the first of them is made. So after a kill at any moment
 * each change that was made has its line, and for a line whose change was not made undo finds the
 * old value in place. A kill while a line is written comes before its change, so a torn last line
 * is ignored.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tune/journal.h"
#include "tune/journal_lines.h"

/* All of @text or nothing of it. */
static int append(int fd, const char *text, size_t size)
{
	off_t before = lseek(fd, 0, SEEK_END);
	int error;

	for (size_t written = 0; written < size;) {
		ssize_t part = write(fd, text + written, size - written);

		if (part > 0) {
			written += (size_t)part;
			continue;
		}
		error = part ? errno : ENOSPC;
		if (ftruncate(fd, before)) {
			/* a torn line, which is nothing */
		}
		errno = error;
		return -1;
	}
	return 0;
}

static uint64_t next_number(const struct journal *journal)
{
	uint64_t number = journal->highest; /* in its file, also what is not read */

	for (size_t i = 0; i < journal->count; i++) {
		if (journal->entry[i].change.number > number)
			number = journal->entry[i].change.number;
	}
	return number + 1;
}

/*
 * What the profile has changed already, and is to be changed again, keeps its entry. The value to
 * restore is what somebody has made of it since, who may be the thread itself when it began to run;
 * but where CPUs have been unplugged it may be what the kernel has made of it.
 */
static bool keep_entry(struct journal_entry *holder, const struct tune_change *change, FILE *file)
{
	char *old_value;

	if (change->kind == &tune_side_effect) {
		fprintf(file, "new %llu", (unsigned long long)holder->change.number);
		journal_put_word(file, change->new_value);
		fputc('\n', file);
		return true;
	}
	if (change->kind->given_up || !strcmp(holder->change.old_value, change->old_value))
		return true;
	old_value = strdup(change->old_value);
	if (!old_value)
		return false;
	free(holder->change.old_value);
	holder->change.old_value = old_value;
	fprintf(file, "old %llu", (unsigned long long)holder->change.number);
	journal_put_word(file, old_value);
	fputc('\n', file);
	return true;
}

static bool add_entry(struct journal *journal, const char *profile, struct tune_change *change,
		      uint64_t number, FILE *file)
{
	const char *values[] = { change->key, change->old_value, change->new_value };
	struct journal_entry *holder = journal_holder(journal, change->kind, change->key);

	if (!change->profile)
		change->profile = strdup(profile);
	if (holder && !strcmp(holder->change.profile, profile) &&
	    tune_same(change->kind, holder->change.new_value, change->new_value)) {
		change->number = holder->change.number;
		holder->change.rule = change->rule;
		return keep_entry(holder, change, file);
	}
	if (!journal_keep(journal, change->kind, profile, number, values, false))
		return false;
	change->number = number;
	journal->entry[journal->count - 1].change.rule = change->rule;
	journal_put_change(file, journal->boot, &journal->entry[journal->count - 1]);
	return true;
}

int journal_add(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first,
		char *error, size_t error_size)
{
	uint64_t number = next_number(journal);
	size_t size, before = journal->count;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	int failed = file ? 0 : -1;

	journal->ticks =
		clock_read_ns(CLOCK_BOOTTIME) / (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));

	/* Undo goes backwards, and restores side effects after what caused them. */
	for (size_t i = first; i < 2 * plan->count - first && !failed; i++) {
		struct tune_change *change =
			&plan->change[i < plan->count ? i : i - plan->count + first];
		bool is_effect = change->kind == &tune_side_effect;

		if (change->state == TUNE_PLANNED && is_effect == (i < plan->count) &&
		    !add_entry(journal, profile, change, number++, file))
			failed = -1;
	}
	if (file && fclose(file))
		failed = -1;
	if (!failed && size)
		failed = append(journal->fd, text, size) || fsync(journal->fd) ||
			 fsync(journal->directory);
	free(text);
	if (!failed)
		return 0;
	snprintf(error, error_size, "cannot write the journal %s: %s; nothing more is changed",
		 journal->path, strerror(errno));
	journal_drop_entries(journal, before);
	for (size_t i = first; i < plan->count; i++)
		plan->change[i].number = 0;
	return -1;
}

static void append_line(struct journal *journal, const char *word, uint64_t number,
			const char *value)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return;
	fprintf(file, "%s %llu", word, (unsigned long long)number);
	if (value)
		journal_put_word(file, value);
	fputc('\n', file);
	if (!fclose(file))
		append(journal->fd, text, size);
	free(text);
	journal->changed = true;
}

void journal_forget(struct journal *journal, struct journal_entry *entry)
{
	entry->undone = true;
	append_line(journal, "undone", entry->change.number, NULL);
}

void journal_hand_over(struct journal *journal, struct journal_entry *entry,
		       struct journal_entry *later)
{
	char *old_value = strdup(entry->change.old_value);

	if (!old_value)
		return; /* both stay: it can be tried again */
	append_line(journal, "old", later->change.number, old_value);
	free(later->change.old_value);
	later->change.old_value = old_value;
	journal_forget(journal, entry);
}

static void set_value(struct journal *journal, const struct journal_entry *entry, const char *word,
		      char **place, const char *value)
{
	char *copy = strcmp(*place, value) != 0 ? strdup(value) : NULL;

	if (!copy)
		return;
	append_line(journal, word, entry->change.number, copy);
	free(*place);
	*place = copy;
}

void journal_set_old(struct journal *journal, struct journal_entry *entry, const char *value)
{
	set_value(journal, entry, "old", &entry->change.old_value, value);
}

void journal_set_new(struct journal *journal, struct journal_entry *entry, const char *value)
{
	set_value(journal, entry, "new", &entry->change.new_value, value);
}
