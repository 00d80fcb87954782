// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of settings that outlive a boot.
 *
 * A new file takes the old one's place, so that a reader finds the old content or the new one. The
 * old content is compared right before that: no tool that writes these files takes a lock, so
 * whoever changed it after it was read wins.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "proc/file.h"
#include "tune/config.h"

#define NAMES_SIZE (4 << 10)
#define VALUE_SIZE (64 << 10)

/* Signatures of the old content, which would make the new one unreadable. */
static bool is_signature(const char *name)
{
	return !strcmp(name, "security.ima") || !strcmp(name, "security.evm");
}

/* Labels and access lists; a file system without them has none to lose. */
static int copy_attributes(int from, int to)
{
	static char names[NAMES_SIZE], value[VALUE_SIZE];
	ssize_t size = flistxattr(from, names, sizeof(names));

	if (size < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		ssize_t length = fgetxattr(from, name, value, sizeof(value));

		if (is_signature(name))
			continue;
		if (length < 0 || fsetxattr(to, name, value, (size_t)length, 0))
			return errno;
	}
	return 0;
}

static int write_synced(int fd, const char *text, int old_fd)
{
	size_t size = strlen(text);
	struct stat old;
	int error;

	if (old_fd < 0 && fchmod(fd, 0644))
		return errno;
	if (old_fd >= 0) {
		if (fstat(old_fd, &old) || fchown(fd, old.st_uid, old.st_gid) ||
		    fchmod(fd, old.st_mode & 07777))
			return errno;
		error = copy_attributes(old_fd, fd);
		if (error)
			return error;
	}
	errno = 0;
	if (write(fd, text, size) != (ssize_t)size)
		return errno ? errno : ENOSPC;
	return fsync(fd) ? errno : 0;
}

/* Whether the file holds @text and nothing else; where there is none, whether that is empty. */
static bool holds(const char *path, const char *text)
{
	size_t size = strlen(text) + 2, got; /* one byte more, and a NUL */
	char *content = malloc(size);
	bool same;

	if (!content)
		return false;
	got = file_text(AT_FDCWD, path, content, size);
	same = got == size - 2 && !memcmp(content, text, got);
	free(content);
	return same;
}

int config_sync_folder(const char *path)
{
	char folder[PATH_MAX], *name;
	int fd, error;

	snprintf(folder, sizeof(folder), "%s", path);
	name = strrchr(folder, '/');
	if (name)
		name[name == folder] = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	error = fsync(fd) ? errno : 0;
	close(fd);
	return error;
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

int config_replace(const char *path, const char *before, const char *text)
{
	char file[PATH_MAX], fresh[PATH_MAX + 16];
	int fd, old_fd, error = find_file(path, file);
	struct stat old;

	if (error)
		return error;
	snprintf(fresh, sizeof(fresh), "%s.rtscope", file);
	old_fd = open(file, O_RDONLY | O_CLOEXEC);
	if (old_fd < 0 && errno != ENOENT)
		return errno;
	if (old_fd >= 0 && !fstat(old_fd, &old) && old.st_nlink > 1) {
		close(old_fd);
		return EMLINK;
	}
	unlink(fresh); /* of one that was killed */
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = fd < 0 ? errno : write_synced(fd, text, old_fd);
	if (fd >= 0)
		close(fd);
	if (old_fd >= 0)
		close(old_fd);
	if (!error && !holds(file, before))
		error = ESTALE;
	if (!error && rename(fresh, file))
		error = errno;
	if (error)
		unlink(fresh);
	else
		config_sync_folder(file);
	return error;
}
