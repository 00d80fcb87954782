/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal's lines: what stands in its file. */
#ifndef RTSCOPE_TUNE_JOURNAL_LINES_H
#define RTSCOPE_TUNE_JOURNAL_LINES_H

#include <stdio.h>

#include "tune/journal.h"

/* Take in a line of @size bytes, which a NUL follows. Returns 1, 0 for one that is only kept, or -1
 * where there is no memory.
 */
int journal_read_line(struct journal *journal, const char *line, size_t size);

void journal_drop_foreign(struct journal *journal);

/* Drop all entries but the first @count. */
void journal_drop_entries(struct journal *journal, size_t count);

/* Add an entry of key, old and new value. False where there is no memory. */
bool journal_keep(struct journal *journal, const struct tune_kind *kind, const char *profile,
		  uint64_t number, const char *const *values, bool stale);

/* A blank and the word. */
void journal_put_word(FILE *file, const char *word);
/* The line of a change. */
void journal_put_change(FILE *file, const char *boot, const struct journal_entry *entry);

#endif
