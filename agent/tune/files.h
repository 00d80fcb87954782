/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that the kernel has as files, as rules want them. */
#ifndef RTSCOPE_TUNE_FILES_H
#define RTSCOPE_TUNE_FILES_H

#include "tune/change.h"
#include "tune/rules.h"

/* Write @text in one write(); 0 or an errno, ESRCH where the file is not there. */
int file_write(const char *path, const char *text);

typedef void file_found_fn(const char *path, void *context);

/* Call @found for each file below /proc/sys or /sys that fits @pattern, with its real path. */
void files_found(const char *pattern, file_found_fn *found, void *context);

/* Whether it is a file that its owner may write. */
bool file_can_be_written(const char *path);

/* Add to @plan what @rule, of a file, changes of those that its pattern matches. */
void tune_files_resolve(struct tune_rule *rule, struct tune_plan *plan);

#endif
