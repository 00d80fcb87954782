// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directory that loads work in: $TMPDIR, /var/tmp or /tmp, in this order.
 *
 * It carries a lock that ends with the last process of its set. If even the
 * supervisor could not clean up, the next start finds a directory without a
 * lock and removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/set.h"

#define PREFIX "rtscope-load-"

/* Remove what is in @fd, which is closed, crossing neither links nor mounts. */
static void empty_directory(int fd, dev_t device)
{
	DIR *directory = fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		close(fd);
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		const char *name = entry->d_name;
		struct stat status;
		int below;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (unlinkat(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
			continue;
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0 && fstat(below, &status) == 0 && status.st_dev == device)
			empty_directory(below, device);
		else if (below >= 0)
			close(below);
		unlinkat(fd, name, AT_REMOVEDIR);
	}
	closedir(directory);
}

static void remove_tree(const char *path)
{
	/* A process that is being killed may still make a file: try again. */
	for (int attempt = 0; attempt < 10; attempt++) {
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat status;

		if (fd < 0)
			return;
		if (fstat(fd, &status) == 0)
			empty_directory(fd, status.st_dev);
		else
			close(fd);
		if (rmdir(path) == 0 || errno != ENOTEMPTY)
			return;
	}
}

/* Remove directories of this user whose set of loads has ended. */
static void remove_leftovers(const char *parent)
{
	DIR *directory = opendir(parent);
	struct dirent *entry;
	struct stat status;
	char path[PATH_MAX];

	while (directory && (entry = readdir(directory)) != NULL) {
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) >= PATH_MAX)
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
		    flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_tree(path);
		close(fd);
	}
	if (directory)
		closedir(directory);
}

/* True once @path is locked and still there: another set may have removed it. */
static bool lock_directory(struct load_set *set, const char *path)
{
	struct stat locked, there;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	set->lock = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	if (set->lock < 0)
		return false;
	if (flock(set->lock, LOCK_EX) == 0 && fstat(set->lock, &locked) == 0 &&
	    stat(path, &there) == 0 && locked.st_ino == there.st_ino &&
	    locked.st_dev == there.st_dev)
		return true;
	close(set->lock);
	set->lock = -1;
	return false;
}

static bool make_below(struct load_set *set, const char *parent)
{
	char path[PATH_MAX];

	remove_leftovers(parent);
	for (int attempt = 0; attempt < 10; attempt++) {
		if (snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX",
			     strcmp(parent, "/") ? parent : "") >= PATH_MAX ||
		    !mkdtemp(path))
			return false;
		if (lock_directory(set, path)) {
			strcpy(set->scratch, path);
			return true;
		}
		rmdir(path);
	}
	return false;
}

int scratch_make(struct load_set *set, char *error, size_t error_size)
{
	const char *parent[] = { getenv("TMPDIR"), "/var/tmp", "/tmp", getpid() == 1 ? "/" : NULL };

	for (unsigned int i = 0; i < sizeof(parent) / sizeof(parent[0]); i++) {
		if (parent[i] && parent[i][0] == '/' && make_below(set, parent[i]))
			return 0;
	}
	snprintf(error, error_size,
		 "cannot make a directory in $TMPDIR, /var/tmp or /tmp: %s; set TMPDIR to one that can be written",
		 strerror(errno));
	return -1;
}

void scratch_remove(const struct load_set *set)
{
	if (*set->scratch)
		remove_tree(set->scratch);
}
