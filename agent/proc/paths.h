/* SPDX-License-Identifier: GPL-2.0-only */
/* Files whose paths match a pattern. */
#ifndef RTSCOPE_PATHS_H
#define RTSCOPE_PATHS_H

#include <stdbool.h>

/* Returns whether to go on. */
typedef bool path_found_fn(const char *path, void *context);

/*
 * Call @found with each path that matches @pattern, in the order of names. @pattern is absolute and
 * may have the wildcards of base/pattern.h, which match no '/' and no '.' at the start of a name.
 * With @root, "" or a directory, files are looked up below it; paths do not contain it. A path
 * without wildcards need not exist. Returns false if @found ended the search.
 *
 * The libc's glob() would add the users' home directories and the letters of all languages: a tenth
 * of the agent.
 */
bool paths_matching(const char *root, const char *pattern, path_found_fn *found, void *context);

#endif
