// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "proc/paths.h"

#define PATH_SIZE 512

static bool search(const char *root, const char *start, const char *pattern, path_found_fn *found,
		   void *context);

/* Try the names in the folder @path by the first @length bytes of @pattern, and what follows these. */
static bool search_folder(const char *root, const char *path, const char *pattern, size_t length,
			  path_found_fn *found, void *context)
{
	char folder[PATH_MAX], next[PATH_SIZE];
	struct dirent **entry = NULL;
	bool go_on = true;
	int count;

	snprintf(folder, sizeof(folder), "%s%s", root, path);
	count = scandir(folder, &entry, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = entry[i]->d_name;

		if (go_on && *name != '.' && pattern_fits(name, pattern, length) &&
		    snprintf(next, sizeof(next), "%s%s", path, name) < (int)sizeof(next))
			go_on = search(root, next, pattern + length, found, context);
		free(entry[i]);
	}
	free(entry);
	return go_on;
}

static bool search(const char *root, const char *start, const char *pattern, path_found_fn *found,
		   void *context)
{
	size_t fixed = strcspn(pattern, PATTERN_WILDCARDS);
	char path[PATH_SIZE];

	while (pattern[fixed] && fixed && pattern[fixed - 1] != '/')
		fixed--;
	if (snprintf(path, sizeof(path), "%s%.*s", start, (int)fixed, pattern) >= (int)sizeof(path))
		return true;
	if (!pattern[fixed])
		return found(path, context);
	pattern += fixed;
	return search_folder(root, path, pattern, strcspn(pattern, "/"), found, context);
}

bool paths_matching(const char *root, const char *pattern, path_found_fn *found, void *context)
{
	return search(root, "", pattern, found, context);
}
