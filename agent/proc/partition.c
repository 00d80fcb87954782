// SPDX-License-Identifier: GPL-2.0-only
/*
 * The isolated cpusets that tuning makes.
 *
 * They are threaded cgroups below the root, so that a process can put some of
 * its threads there and keep the others outside. That takes a process which is
 * in the root itself, where it may have to move first.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/partition.h"

#define ROOT_SIZE 128

bool partition_root(char *path, size_t size)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[1024], *type;
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts)) {
		char *start = strchr(line, ' ');

		type = start ? strchr(start + 1, ' ') : NULL;
		if (!type || strncmp(type, " cgroup2 ", 9) != 0)
			continue;
		*type = '\0';
		found = (size_t)snprintf(path, size, "%s", start + 1) < size;
	}
	if (mounts)
		fclose(mounts);
	return found;
}

static bool read_cpus(const char *root, const char *name, cpu_set_t *cpus)
{
	char path[PARTITION_PATH_SIZE + 32], list[CPULIST_SIZE];

	snprintf(path, sizeof(path), "%s/%s/cpuset.cpus.effective", root, name);
	return file_text(AT_FDCWD, path, list, sizeof(list)) && cpulist_parse(list, cpus);
}

/* The next partition in @folder, which is @root; false after the last one. */
static bool next(DIR *folder, const char *root, char *name, size_t size, cpu_set_t *cpus)
{
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		snprintf(name, size, "%s", entry->d_name);
		if (!strncmp(name, PARTITION_PREFIX, strlen(PARTITION_PREFIX)) &&
		    read_cpus(root, name, cpus))
			return true;
	}
	return false;
}

void partition_cpus(cpu_set_t *cpus)
{
	char root[ROOT_SIZE], name[NAME_MAX + 1];
	cpu_set_t its;
	DIR *folder;

	CPU_ZERO(cpus);
	folder = partition_root(root, sizeof(root)) ? opendir(root) : NULL;
	while (next(folder, root, name, sizeof(name), &its))
		CPU_OR(cpus, cpus, &its);
	if (folder)
		closedir(folder);
}

static bool put_number(const char *root, const char *name, long number)
{
	char path[PARTITION_PATH_SIZE + 32], text[24];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	snprintf(text, sizeof(text), "%ld", number);
	return file_put(AT_FDCWD, path, text);
}

static bool join(const char *root, const char *name)
{
	char threads[NAME_MAX + 32];
	long tid = syscall(SYS_gettid);

	snprintf(threads, sizeof(threads), "%s/cgroup.threads", name);
	return put_number(root, threads, tid) ||
	       (put_number(root, "cgroup.procs", getpid()) && put_number(root, threads, tid));
}

bool partition_join(unsigned int cpu)
{
	char root[ROOT_SIZE], name[NAME_MAX + 1];
	bool joined = false;
	cpu_set_t cpus;
	DIR *folder;

	folder = partition_root(root, sizeof(root)) ? opendir(root) : NULL;
	while (!joined && next(folder, root, name, sizeof(name), &cpus))
		joined = CPU_ISSET(cpu, &cpus) && join(root, name);
	if (folder)
		closedir(folder);
	return joined;
}
