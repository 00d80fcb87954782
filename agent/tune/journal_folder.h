/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal's folder. */
#ifndef RTSCOPE_TUNE_JOURNAL_FOLDER_H
#define RTSCOPE_TUNE_JOURNAL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Returns 0 where this process may change the journal below @directory, or -1 with a sentence. */
int journal_may(const char *directory, char *error, size_t error_size);

/* Make the folder and those above it. 0, or -1 with errno. */
int journal_make_folder(const char *path);

/* Have the names of the folder and of those above it on disk. 0, or -1 with errno. */
int journal_sync_folders(const char *path);

/* A journal that others may write would be a list of what root is to change. */
bool journal_is_trusted(int fd);

#endif
