// SPDX-License-Identifier: GPL-2.0-only
/* The journal's folder. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/capability.h"
#include "tune/config.h"
#include "tune/journal_folder.h"

static int make_one(const char *path, mode_t mode)
{
	return mkdir(path, mode) && errno != EEXIST ? -1 : 0;
}

/* What it is in is nobody else's business. */
int journal_make_folder(const char *path)
{
	char part[256];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (make_one(part, 0755))
			return -1;
	}
	return make_one(path, 0700);
}

/*
 * Also existing ones: their creator may have been killed before they were on disk. A file
 * system that cannot sync folders, or cannot be written, has nothing to lose.
 */
int journal_sync_folders(const char *path)
{
	char part[256];
	size_t length = strlen(path);

	while (length) {
		int error;

		snprintf(part, sizeof(part), "%.*s", (int)length, path);
		error = config_sync_folder(part);
		if (error && error != EINVAL && error != EROFS && error != ENOTSUP) {
			errno = error;
			return -1;
		}
		while (length && path[--length] != '/')
			;
	}
	return 0;
}

bool journal_is_trusted(int fd)
{
	struct stat file;

	return !fstat(fd, &file) && (file.st_uid == geteuid() || !file.st_uid) &&
	       !(file.st_mode & (S_IWGRP | S_IWOTH));
}

int journal_may(const char *directory, char *error, size_t error_size)
{
	char path[256], *slash;
	const char *lacks;

	snprintf(path, sizeof(path), "%s", directory);
	while (access(path, F_OK) && (slash = strrchr(path, '/')))
		path[slash > path ? slash - path : 1] = '\0';
	lacks = capability_to_write(path);
	if (!lacks)
		return 0;
	snprintf(error, error_size,
		 "the journal cannot be written in %s without %s, which this user does not have; nothing was changed: run as root",
		 directory, lacks);
	return -1;
}
