// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lines of the journal. Words are separated by blanks; blanks and unprintable
 * characters within a word are percent-escaped:
 *
 *	change BOOT PROFILE NUMBER KIND KEY OLD NEW TICKS
 *	old NUMBER OLD		undo restores OLD instead
 *	new NUMBER NEW		the kernel made NEW of it
 *	undone NUMBER
 *
 * A line that cannot be read may be a newer agent's. It is kept byte for byte, and
 * what it says something about is not undone by this agent.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/journal_lines.h"

#define WORDS 9

void journal_put_word(FILE *file, const char *word)
{
	fputc(' ', file);
	if (!*word)
		fputc('%', file); /* an empty word */
	for (; *word; word++) {
		if (*word <= ' ' || *word > '~' || *word == '%')
			fprintf(file, "%%%02x", (unsigned char)*word);
		else
			fputc(*word, file);
	}
}

static void unescape(char *word)
{
	char *to = word;

	for (; *word; word++) {
		char digits[3] = { 0 }, *end;

		if (*word != '%') {
			*to++ = *word;
			continue;
		}
		strncpy(digits, word + 1, 2);
		*to = (char)strtoul(digits, &end, 16);
		if (end == digits + 2) {
			to++;
			word += 2;
		}
	}
	*to = '\0';
}

static unsigned int split(char *line, char **words)
{
	unsigned int count = 0;

	for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
		if (count == WORDS)
			return WORDS + 1;
		unescape(word);
		words[count++] = word;
	}
	return count;
}

static const struct tune_kind *find_kind(const char *name)
{
	for (const struct tune_kind *const *kind = tune_kinds; *kind; kind++) {
		if (!strcmp((*kind)->name, name))
			return *kind;
	}
	return NULL;
}

static bool has_room(struct journal *journal)
{
	size_t room = journal->room ? 2 * journal->room : 64;
	struct journal_entry *grown;

	if (journal->count < journal->room)
		return true;
	grown = realloc(journal->entry, room * sizeof(*grown));
	if (!grown)
		return false;
	journal->entry = grown;
	journal->room = room;
	return true;
}

bool journal_keep(struct journal *journal, const struct tune_kind *kind, const char *profile,
		  uint64_t number, const char *const *values, bool stale)
{
	struct journal_entry entry = {
		.change = { .kind = kind, .number = number, .state = TUNE_APPLIED },
		.ticks = journal->ticks,
		.stale = stale,
	};

	entry.change.profile = strdup(profile);
	entry.change.key = strdup(values[0]);
	entry.change.old_value = strdup(values[1]);
	entry.change.new_value = strdup(values[2]);
	if (entry.change.profile && entry.change.key && entry.change.old_value &&
	    entry.change.new_value && has_room(journal)) {
		journal->entry[journal->count++] = entry;
		return true;
	}
	tune_change_free(&entry.change);
	return false;
}

/* False where it is none that this agent knows. */
static bool read_known(struct journal *journal, char *line)
{
	struct journal_entry *entry;
	char *words[WORDS], **place, *value;
	unsigned int count = split(line, words);
	const struct tune_kind *kind;

	if (count > 3 && !strcmp(words[0], "change") &&
	    strtoull(words[3], NULL, 10) > journal->highest)
		journal->highest = strtoull(words[3], NULL, 10);
	if (count == WORDS && !strcmp(words[0], "change")) {
		journal->ticks = strtoull(words[8], NULL, 10);
		kind = find_kind(words[4]);
		return kind && journal_keep(journal, kind, words[2], strtoull(words[3], NULL, 10),
					    (const char *const[]){ words[5], words[6], words[7] },
					    !kind->lasting && strcmp(words[1], journal->boot) != 0);
	}
	entry = count > 1 ? journal_find(journal, strtoull(words[1], NULL, 10)) : NULL;
	if (!entry)
		return false;
	if (count == 2 && !strcmp(words[0], "undone")) {
		entry->undone = true;
		return true;
	}
	if (count != 3)
		return false;
	place = !strcmp(words[0], "old") ? &entry->change.old_value :
		!strcmp(words[0], "new") ? &entry->change.new_value :
					   NULL;
	value = place ? strdup(words[2]) : NULL;
	if (!value)
		return false;
	free(*place);
	*place = value;
	return true;
}

static void describe_foreign(const char *key, char *what, char *where, size_t size)
{
	snprintf(what, size, "%s", key);
	*where = '\0';
}

/* Keep a change's @line, to name it where it would have to be undone. False without memory. */
static bool keep_foreign(struct journal *journal, char *line)
{
	char *words[WORDS] = { 0 };
	unsigned int count = split(line, words);
	struct journal_foreign *foreign;

	for (unsigned int i = count; i < WORDS; i++)
		words[i] = "";
	foreign = calloc(1, sizeof(*foreign));
	if (!foreign)
		return false;
	*foreign = (struct journal_foreign){
		.kind = { .name = words[4], .describe = describe_foreign },
		.change = { .profile = words[2],
			    .key = words[5],
			    .old_value = words[6],
			    .new_value = words[7],
			    .number = strtoull(words[3], NULL, 10) },
		.line = line,
		.next = journal->foreign,
	};
	foreign->change.kind = &foreign->kind;
	journal->foreign = foreign;
	return true;
}

void journal_drop_foreign(struct journal *journal)
{
	while (journal->foreign) {
		struct journal_foreign *next = journal->foreign->next;

		free(journal->foreign->line);
		free(journal->foreign);
		journal->foreign = next;
	}
}

/* Note the change that an unreadable line belongs to, as far as it can be recognised. */
static bool note_unread(struct journal *journal, const char *line)
{
	char verb[16] = "", kind[2], *copy;
	unsigned long long number = 0;
	struct journal_entry *entry;

	if (sscanf(line, "change %*s %*s %llu %1s", &number, kind) == 2) {
		copy = strdup(line);
		if (copy && keep_foreign(journal, copy))
			return true;
		free(copy);
		return false;
	}
	if (sscanf(line, "%15s %llu", verb, &number) != 2)
		return true;
	entry = journal_find(journal, number);
	if (entry)
		entry->unclear = true;
	for (struct journal_foreign *one = journal->foreign; one; one = one->next)
		one->undone |= one->change.number == number && !strcmp(verb, "undone");
	return true;
}

int journal_read_line(struct journal *journal, const char *line, size_t size)
{
	char *words = strdup(line), *unread;
	bool known = words && strlen(line) == size && read_known(journal, words);

	free(words);
	if (!words || known)
		return words ? 1 : -1;
	if (!note_unread(journal, line))
		return -1;
	unread = realloc(journal->unread, journal->unread_size + size + 1);
	if (!unread)
		return -1;
	memcpy(unread + journal->unread_size, line, size);
	unread[journal->unread_size + size] = '\n';
	journal->unread = unread;
	journal->unread_size += size + 1;
	return 0;
}

void journal_put_change(FILE *file, const char *boot, const struct journal_entry *entry)
{
	const struct tune_change *change = &entry->change;
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)change->number);
	fputs("change", file);
	journal_put_word(file, boot);
	journal_put_word(file, change->profile);
	journal_put_word(file, number);
	journal_put_word(file, change->kind->name);
	journal_put_word(file, change->key);
	journal_put_word(file, change->old_value);
	journal_put_word(file, change->new_value);
	fprintf(file, " %llu\n", (unsigned long long)entry->ticks);
}
