// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lines of the journal. Words are parted by blanks, their own blanks and
 * everything unprintable percent-escaped:
 *
 *	change BOOT PROFILE NUMBER KIND KEY OLD NEW TICKS
 *	old NUMBER OLD		that change is taken back to OLD instead
 *	undone NUMBER
 *
 * What cannot be read may be a newer agent's, who then takes it back: it is kept
 * as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "system/tune_journal_lines.h"

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
	char *words[WORDS], *old_value;
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
	old_value = count == 3 && !strcmp(words[0], "old") ? strdup(words[2]) : NULL;
	if (!old_value)
		return false;
	free(entry->change.old_value);
	entry->change.old_value = old_value;
	return true;
}

int journal_read_line(struct journal *journal, const char *line)
{
	size_t size = strlen(line);
	char *words = strdup(line), *unread;
	bool known = words && read_known(journal, words);

	free(words);
	if (!words || known)
		return words ? 1 : -1;
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
