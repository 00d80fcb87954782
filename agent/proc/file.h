/* SPDX-License-Identifier: GPL-2.0-only */
/* A small file's text, as those in /proc and /sys are. */
#ifndef RTSCOPE_FILE_H
#define RTSCOPE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Put the first @size - 1 bytes of the file and a NUL into @text; a relative
 * @path is below @directory, or below the current one for AT_FDCWD. Returns
 * the number of bytes, 0 where the file is empty or cannot be read.
 */
size_t file_text(int directory, const char *path, char *text, size_t size);

/*
 * Write @text into a file that is there, named as for file_text(); false with errno where that
 * cannot be.
 */
bool file_put(int directory, const char *path, const char *text);

/* Return the next entry of @directory whose name is a number; -1 after the last, and for NULL. */
int directory_next_number(DIR *directory);

#endif
