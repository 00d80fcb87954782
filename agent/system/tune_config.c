// SPDX-License-Identifier: GPL-2.0-only
/* Files of settings that outlive a boot: a new file takes the old one's place. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
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

static void sync_folder(const char *path)
{
	char folder[256], *name;
	int fd;

	snprintf(folder, sizeof(folder), "%s", path);
	name = strrchr(folder, '/');
	if (name)
		*name = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int config_replace(const char *path, const char *text)
{
	struct stat old;
	char fresh[280];
	int fd, error;
	bool exists = !stat(path, &old);

	snprintf(fresh, sizeof(fresh), "%s.rtscope", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	errno = 0;
	error = write_synced(fd, text, exists ? &old : NULL);
	close(fd);
	if (!error && rename(fresh, path))
		error = errno;
	if (error)
		unlink(fresh);
	else
		sync_folder(path);
	return error;
}
