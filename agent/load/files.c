// SPDX-License-Identifier: GPL-2.0-only
/*
 * files: walks a tree as `find` does (opendir, readdir, stat) and reads some
 * files on the way: path look-ups, dentry and inode caches, directory locks.
 *
 * The tree is its own, made of the seed, for a walk of the machine's would be
 * another load on every machine. All workers walk the same one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/worker.h"

#define BRANCHES    8  /* directories in the tree's root, and in each of those */
#define FILES	    16 /* in each of the lower directories */
#define READ_ONE_IN 8
#define CONTENT_MAX 2048

static int fail(struct worker *worker, const char *what, const char *path)
{
	return worker_fail(worker, "cannot %s %s: %s; set TMPDIR to a directory with 8 MiB free",
			   what, path, strerror(errno));
}

static int make_directory(struct worker *worker, const char *path)
{
	return mkdir(path, 0700) < 0 ? fail(worker, "make the directory", path) : 0;
}

static int make_file(struct worker *worker, const char *path)
{
	char content[CONTENT_MAX];
	size_t size = worker_random_below(worker, sizeof(content));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t written;

	if (fd < 0)
		return fail(worker, "make the file", path);
	for (size_t i = 0; i < size; i++)
		content[i] = (char)worker_random(worker);
	errno = ENOSPC; /* what a short write means */
	written = write(fd, content, size);
	close(fd);
	return written == (ssize_t)size ? 0 : fail(worker, "fill the file", path);
}

static int make_leaf(struct worker *worker, const char *path)
{
	char name[PATH_MAX + 64];

	if (make_directory(worker, path) < 0)
		return -1;
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%s/%012llx", path,
			 (unsigned long long)(worker_random(worker) >> 16));
		if (make_file(worker, name) < 0)
			return -1;
	}
	return 0;
}

static int prepare(struct worker *worker)
{
	char root[PATH_MAX], branch[PATH_MAX + 16], leaf[PATH_MAX + 32];

	if (worker_path(worker, root, "tree") < 0 || make_directory(worker, root) < 0)
		return -1;
	for (int i = 0; i < BRANCHES; i++) {
		snprintf(branch, sizeof(branch), "%s/%d", root, i);
		if (make_directory(worker, branch) < 0)
			return -1;
		for (int j = 0; j < BRANCHES; j++) {
			snprintf(leaf, sizeof(leaf), "%s/%d", branch, j);
			if (make_leaf(worker, leaf) < 0)
				return -1;
		}
	}
	return 0;
}

static uint64_t hash(const char *name)
{
	uint64_t value = 0xcbf29ce484222325ULL;

	while (*name)
		value = (value ^ (unsigned char)*name++) * 0x100000001b3ULL;
	return value;
}

static void read_file(int directory, const char *name)
{
	char content[CONTENT_MAX];
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while (read(fd, content, sizeof(content)) > 0)
		;
	close(fd);
}

/* Walk below @fd, which is closed; the sum does not depend on readdir's order. */
static int walk(struct worker *worker, int fd, uint64_t *sum)
{
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat status;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return worker_fail(worker, "its tree cannot be walked: %s", strerror(errno));
	}
	while ((entry = readdir(directory)) != NULL) {
		const char *name = entry->d_name;

		if (name[0] == '.' || fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		worker_count(worker, 0, 1);
		*sum += hash(name) ^ (S_ISDIR(status.st_mode) ? 0 : (uint64_t)status.st_size);
		if (S_ISDIR(status.st_mode)) {
			int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			if (walk(worker, below, sum) < 0) {
				closedir(directory);
				return -1;
			}
		} else if (worker_random_below(worker, READ_ONE_IN) == 0) {
			read_file(fd, name);
		}
	}
	closedir(directory);
	return 0;
}

static int step(struct worker *worker)
{
	char root[PATH_MAX];
	uint64_t sum = 0;

	if (worker_path(worker, root, "tree") < 0 ||
	    walk(worker, open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &sum) < 0)
		return -1;
	worker_fold(worker, sum);
	return 0;
}

const struct load load_files = {
	.name = "files",
	.help = "walks a tree of a thousand files: readdir, stat, open",
	.unit = { "stats" },
	.needs_directory = true,
	.prepare = prepare,
	.step = step,
};
