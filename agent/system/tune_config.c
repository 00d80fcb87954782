// SPDX-License-Identifier: GPL-2.0-only
/* Files of settings that outlive a boot: a new file takes the old one's place; a link stays one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/tune_config.h"

static int write_synced(int fd, const char *text, const struct stat *old)
{
	size_t size = strlen(text);

	if (old && (fchown(fd, old->st_uid, old->st_gid) || fchmod(fd, old->st_mode)))
		return errno;
	if (write(fd, text, size) != (ssize_t)size)
		return errno ? errno : ENOSPC;
	return fsync(fd) ? errno : 0;
}

void config_sync_folder(const char *path)
{
	char folder[PATH_MAX], *name;
	int fd;

	snprintf(folder, sizeof(folder), "%s", path);
	name = strrchr(folder, '/');
	if (name)
		name[name == folder] = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* The file that @path leads to; where there is none yet, @path itself. */
static int find_file(const char *path, char file[PATH_MAX])
{
	struct stat link;

	if (realpath(path, file))
		return 0;
	if (errno != ENOENT || !lstat(path, &link))
		return errno;
	snprintf(file, PATH_MAX, "%s", path);
	return 0;
}

int config_replace(const char *path, const char *text)
{
	struct stat old;
	char file[PATH_MAX], fresh[PATH_MAX + 16];
	int fd, error = find_file(path, file);
	bool exists = !error && !stat(file, &old);

	if (error)
		return error;
	snprintf(fresh, sizeof(fresh), "%s.rtscope", file);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	errno = 0;
	error = write_synced(fd, text, exists ? &old : NULL);
	close(fd);
	if (!error && rename(fresh, file))
		error = errno;
	if (error)
		unlink(fresh);
	else
		config_sync_folder(file);
	return error;
}
