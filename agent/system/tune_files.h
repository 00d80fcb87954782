/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings that the kernel has as files, as rules want them. */
#ifndef RTSCOPE_SYSTEM_TUNE_FILES_H
#define RTSCOPE_SYSTEM_TUNE_FILES_H

#include "system/tune_change.h"
#include "system/tune_rules.h"

/* Write @text in one write(); 0 or an errno, ESRCH where the file is not there. */
int file_write(const char *path, const char *text);

/* Add to @plan what @rule, of a file, changes of those that its pattern matches. */
void tune_files_resolve(struct tune_rule *rule, struct tune_plan *plan);

#endif
