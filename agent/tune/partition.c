// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cpuset that has its CPUs to itself, made while the machine runs.
 *
 * A key is the path of the cgroup, its value its CPUs, empty where there is no
 * such cgroup; or the path of the root's cgroup.subtree_control, where the
 * cpuset controller may have to be let in first. What is killed in between
 * leaves a cgroup that is unfinished, which counts as ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/partition.h"
#include "tune/capability.h"
#include "tune/files.h"
#include "tune/partition.h"

#define CONTROL	   "/cgroup.subtree_control"
#define LET_IN	   "+cpuset"
#define LEFT_OUT   "-cpuset"
#define UNFINISHED "unfinished"
#define EMPTY_MAX  100 /* rounds of moving away what is within, while that forks */

static bool is_control(const char *key)
{
	size_t length = strlen(key), end = strlen(CONTROL);

	return length > end && !strcmp(key + length - end, CONTROL);
}

static bool has_word(const char *path, const char *word)
{
	char text[1024];

	file_text(AT_FDCWD, path, text, sizeof(text));
	for (char *rest = text, *found; (found = strtok(rest, " \n")); rest = NULL) {
		if (!strcmp(found, word))
			return true;
	}
	return false;
}

static size_t read_part(const char *key, const char *name, char *text, size_t size)
{
	char path[2 * PARTITION_PATH_SIZE + NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", key, name);
	file_text(AT_FDCWD, path, text, size);
	text[strcspn(text, "\n")] = '\0';
	return strlen(text);
}

static int write_part(const char *key, const char *name, const char *text)
{
	char path[PARTITION_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", key, name);
	return file_write(path, text);
}

static int read_partition(const char *key, char *value, size_t size)
{
	if (is_control(key))
		snprintf(value, size, "%s", has_word(key, "cpuset") ? LET_IN : LEFT_OUT);
	else if (access(key, F_OK))
		*value = '\0';
	else if (!read_part(key, "cpuset.cpus", value, size))
		snprintf(value, size, UNFINISHED);
	return 0;
}

/* Another cgroup may count on it by now. */
static bool is_used(const char *control)
{
	char root[PARTITION_PATH_SIZE], path[PARTITION_PATH_SIZE + NAME_MAX + 2];
	char list[CPULIST_SIZE];
	struct dirent *entry;
	bool used = false;
	DIR *folder;

	snprintf(root, sizeof(root), "%.*s", (int)(strlen(control) - strlen(CONTROL)), control);
	folder = opendir(root);
	while (folder && !used && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
		used = *entry->d_name != '.' && read_part(path, "cpuset.cpus", list, sizeof(list));
	}
	if (folder)
		closedir(folder);
	return used;
}

/* What is within goes back to the root. */
static void empty(const char *key)
{
	char threads[PARTITION_PATH_SIZE], up[PARTITION_PATH_SIZE], line[32];
	FILE *file;

	snprintf(threads, sizeof(threads), "%s/cgroup.threads", key);
	snprintf(up, sizeof(up), "%s/../cgroup.threads", key);
	file = fopen(threads, "re");
	while (file && fgets(line, sizeof(line), file))
		file_put(AT_FDCWD, up, line);
	if (file)
		fclose(file);
}

static int remove_partition(const char *key)
{
	write_part(key, "cpuset.cpus.partition", "member");
	for (unsigned int i = 0; i < EMPTY_MAX; i++) {
		empty(key);
		if (!rmdir(key) || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
	}
	return errno;
}

static int make_partition(const char *key, const char *cpus)
{
	int error;

	if (mkdir(key, 0755) && errno != EEXIST)
		return errno;
	error = write_part(key, "cgroup.type", "threaded");
	if (error == EOPNOTSUPP) /* it is already */
		error = 0;
	if (!error)
		error = write_part(key, "cpuset.cpus", cpus);
	if (!error)
		error = write_part(key, "cpuset.cpus.partition", "isolated");
	if (error)
		remove_partition(key);
	return error;
}

static int write_partition(const char *key, const char *value)
{
	if (!is_control(key))
		return *value ? make_partition(key, value) : remove_partition(key);
	if (*value == '-' && is_used(key))
		return EBUSY;
	return file_write(key, value);
}

static bool same(const char *one, const char *other)
{
	return *one && *other && (!strcmp(one, UNFINISHED) || !strcmp(other, UNFINISHED));
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	const char *name = strrchr(key, '/');

	snprintf(where, size, "%s", key);
	snprintf(what, size, "%s", name ? name + 1 : key);
}

static enum tune_effect effect(const char *key, const char *value, char *why, size_t size)
{
	char state[256];

	if (is_control(key))
		return EFFECT_FULL;
	read_part(key, "cpuset.cpus.partition", state, sizeof(state));
	if (!strcmp(state, "isolated") && strcmp(value, UNFINISHED) != 0)
		return EFFECT_FULL;
	snprintf(why, size, "the kernel does not isolate it: it says '%s'", state);
	return EFFECT_NONE;
}

static const char *lacking(const char *key, const char *value)
{
	char folder[PARTITION_PATH_SIZE], *name;

	(void)value;
	snprintf(folder, sizeof(folder), "%s", key);
	name = strrchr(folder, '/');
	if (name)
		*name = '\0';
	return capability_to_write(is_control(key) ? key : folder);
}

static const char *const rivals[] = { "cpusetd", NULL };

const struct tune_kind tune_partition = {
	.name = "partition",
	.read = read_partition,
	.write = write_partition,
	.same = same,
	.describe = describe,
	.effect = effect,
	.lacking = lacking,
	.rivals = rivals,
};

static const char *missing(const char *root)
{
	char path[PARTITION_PATH_SIZE];

	if (!*root)
		return "no cgroups of version 2 are mounted, which partitions need: boot with systemd.unified_cgroup_hierarchy=1, or isolate the CPUs at boot by isolcpus=";
	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (!has_word(path, "cpuset"))
		return "the cpuset controller is not one of this machine's cgroups of version 2 (the kernel lacks CONFIG_CPUSETS, it is mounted as version 1, or this is a container); isolate the CPUs at boot by isolcpus=";
	return NULL;
}

static void want(struct tune_plan *plan, const char *key, const char *wanted)
{
	char value[TUNE_VALUE_SIZE];

	read_partition(key, value, sizeof(value));
	tune_plan_want(plan, &tune_partition, key, value, wanted);
}

void tune_partition_resolve(struct tune_rules *rules, struct tune_plan *plan)
{
	char root[128] = "", key[PARTITION_PATH_SIZE], list[CPULIST_SIZE];
	struct tune_change *change;
	const char *lacks;
	cpu_set_t cpus;

	tune_rules_cpus(rules, RULE_PARTITION, &cpus);
	cpulist_format(&cpus, list, sizeof(list));
	partition_root(root, sizeof(root));
	lacks = missing(root);
	if (!lacks) {
		snprintf(key, sizeof(key), "%s" CONTROL, root);
		want(plan, key, LET_IN);
	}
	snprintf(key, sizeof(key), "%s/" PARTITION_PREFIX "%s", *root ? root : "/sys/fs/cgroup",
		 rules->profile);
	if (!lacks) {
		want(plan, key, list);
		return;
	}
	change = tune_plan_want(plan, &tune_partition, key, "", list);
	if (!change)
		return;
	change->state = TUNE_FAILED;
	snprintf(change->why, sizeof(change->why), "%s", lacks);
}
