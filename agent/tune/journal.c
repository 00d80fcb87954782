// SPDX-License-Identifier: GPL-2.0-only
/*
 * The journal's file: opening, reading, compacting and closing it.
 *
 * The lock is on the folder, because the file is created, replaced and removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/file.h"
#include "tune/journal.h"
#include "tune/journal_folder.h"
#include "tune/journal_lines.h"

#define FILE_NAME "journal"
#define NEW_NAME  "journal.new"
#define FORGOTTEN 256 /* entries from which on a journal of more forgotten ones is written anew */

struct journal_entry *journal_find(struct journal *journal, uint64_t number)
{
	for (size_t i = 0; i < journal->count; i++) {
		if (journal->entry[i].change.number == number)
			return &journal->entry[i];
	}
	return NULL;
}

/* NULL where not all of it can be read: what is missing must not be cut off. */
static char *read_whole(int fd, size_t *size)
{
	struct stat file;
	char *text;
	ssize_t got;

	if (fstat(fd, &file))
		return NULL;
	text = malloc((size_t)file.st_size + 1);
	if (!text)
		return NULL;
	for (*size = 0; *size < (size_t)file.st_size; *size += (size_t)got) {
		got = read(fd, text + *size, (size_t)file.st_size - *size);
		if (got < 0) {
			free(text);
			return NULL;
		}
		if (!got)
			break;
	}
	text[*size] = '\0';
	return text;
}

/* A torn last line is cut off, so that the next one begins a line. */
static int read_entries(struct journal *journal, bool change, warn_fn *warn)
{
	unsigned int number = 1;
	int known = 1;
	size_t size, whole = 0;
	char text[512], *all = read_whole(journal->fd, &size), *end;

	if (!all)
		return -1;
	for (char *line = all; (end = memchr(line, '\n', size - whole)); line = end + 1, number++) {
		*end = '\0';
		whole = (size_t)(end + 1 - all);
		known = journal_read_line(journal, line, (size_t)(end - line));
		if (known < 0)
			break;
		if (known)
			continue;
		snprintf(text, sizeof(text),
			 "this agent cannot read line %u of the journal %s, which a newer agent may have written: the line stays in the journal, and its change is not undone",
			 number, journal->path);
		warn("journal-unreadable", text);
	}
	free(all);
	if (known < 0)
		return -1;
	if (change && whole < size && ftruncate(journal->fd, (off_t)whole))
		return -1;
	return 0;
}

static void read_boot(struct journal *journal)
{
	file_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", journal->boot,
		  sizeof(journal->boot));
	journal->boot[strcspn(journal->boot, "\n")] = '\0';
	if (!*journal->boot)
		strcpy(journal->boot, "unknown");
}

static int fail(struct journal *journal, char *error, size_t error_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, error_size, format, arguments);
	va_end(arguments);
	if (journal->fd >= 0)
		close(journal->fd);
	if (journal->directory >= 0)
		close(journal->directory);
	journal->fd = journal->directory = -1;
	return -1;
}

static bool is_empty(int fd)
{
	struct stat file;

	return !fstat(fd, &file) && !file.st_size;
}

int journal_open(struct journal *journal, const char *directory, bool change, warn_fn *warn,
		 char *error, size_t error_size)
{
	*journal = (struct journal){ .directory = -1, .fd = -1 };
	if ((size_t)snprintf(journal->path, sizeof(journal->path), "%s/" FILE_NAME, directory) >=
	    sizeof(journal->path))
		return fail(journal, error, error_size, "the path %s is too long", directory);
	read_boot(journal);
	if (change && journal_make_folder(directory))
		return fail(journal, error, error_size,
			    "cannot make the folder of the journal, %s: %s; run as root, or name another with --journal",
			    directory, strerror(errno));
	journal->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (journal->directory < 0 && errno == ENOENT)
		return 0;
	if (journal->directory < 0)
		return fail(journal, error, error_size, "cannot read the journal's folder %s: %s",
			    directory, strerror(errno));
	if (change && flock(journal->directory, LOCK_EX | LOCK_NB))
		return fail(journal, error, error_size,
			    "another rtscope is tuning this machine (it holds %s); wait until it has ended",
			    directory);
	journal->fd =
		openat(journal->directory, FILE_NAME,
		       (change ? O_RDWR | O_CREAT | O_APPEND : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (journal->fd < 0 && errno == ENOENT)
		return 0;
	if (journal->fd >= 0 && change && is_empty(journal->fd) && journal_sync_folders(directory))
		return fail(journal, error, error_size,
			    "cannot write the folders above the journal %s to disk: %s; nothing was changed",
			    journal->path, strerror(errno));
	if (journal->fd < 0)
		return fail(journal, error, error_size, "cannot open the journal %s: %s",
			    journal->path, strerror(errno));
	if (!journal_is_trusted(journal->fd))
		return fail(journal, error, error_size,
			    "the journal %s belongs to another user or may be written by others, so it is not followed",
			    journal->path);
	if (read_entries(journal, change, warn))
		return fail(journal, error, error_size, "cannot read the journal %s: %s",
			    journal->path, strerror(errno));
	return 0;
}

struct journal_entry *journal_holder(struct journal *journal, const struct tune_kind *kind,
				     const char *key)
{
	for (size_t i = journal->count; i--;) {
		struct journal_entry *entry = &journal->entry[i];

		if (!entry->undone && !entry->stale && entry->change.kind == kind &&
		    !strcmp(entry->change.key, key))
			return entry;
	}
	return NULL;
}

void journal_drop_entries(struct journal *journal, size_t count)
{
	while (journal->count > count)
		tune_change_free(&journal->entry[--journal->count].change);
}

static size_t left(const struct journal *journal)
{
	size_t count = 0;

	for (size_t i = 0; i < journal->count; i++)
		count += !journal->entry[i].undone;
	return count;
}

static void drop_forgotten(struct journal *journal)
{
	size_t kept = 0;

	for (size_t i = 0; i < journal->count; i++) {
		if (journal->entry[i].undone)
			tune_change_free(&journal->entry[i].change);
		else
			journal->entry[kept++] = journal->entry[i];
	}
	journal->count = kept;
}

/* A file of only what is left takes the old one's place, or does not. */
void journal_compact(struct journal *journal)
{
	FILE *file;
	int fd;

	if (journal->count - left(journal) <= FORGOTTEN + left(journal))
		return;
	fd = openat(journal->directory, NEW_NAME,
		    O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	file = fd >= 0 ? fdopen(dup(fd), "a") : NULL;
	if (file && journal->unread_size)
		fwrite(journal->unread, journal->unread_size, 1, file);
	for (size_t i = 0; file && i < journal->count; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (!entry->undone)
			journal_put_change(file, entry->stale ? "stale" : journal->boot, entry);
	}
	if (!file || ferror(file) | fclose(file) || fsync(fd) ||
	    renameat(journal->directory, NEW_NAME, journal->directory, FILE_NAME)) {
		unlinkat(journal->directory, NEW_NAME, 0);
		if (fd >= 0)
			close(fd);
		return;
	}
	close(journal->fd);
	journal->fd = fd;
	drop_forgotten(journal);
}

void journal_close(struct journal *journal)
{
	if (journal->changed)
		fsync(journal->fd);
	if (journal->fd >= 0 && fcntl(journal->fd, F_GETFL) & O_RDWR) {
		if (left(journal) || journal->unread_size)
			journal_compact(journal);
		else
			unlinkat(journal->directory, FILE_NAME, 0);
		fsync(journal->directory);
	}
	journal_drop_entries(journal, 0);
	free(journal->entry);
	free(journal->unread);
	journal_drop_foreign(journal);
	if (journal->fd >= 0)
		close(journal->fd);
	if (journal->directory >= 0)
		close(journal->directory);
	*journal = (struct journal){ .directory = -1, .fd = -1 };
}
