// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs interrupts go to, as rules want it.
 *
 * A key is the path of the kernel's file and, behind a blank, the names of those
 * who act on the interrupt, as in "eth0/snd": a number may be another device's by
 * the time it is used. Who shares it may come and go; as long as one of them is
 * there, or nobody is, it is the same. All files are read and written as lists,
 * that for interrupts to come too, which the kernel has as a mask.
 * An interrupt on which nothing acts is left alone: what may act on it later
 * begins with the default.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "system/tune_capability.h"
#include "core/cpulist.h"
#include "system/tune_files.h"
#include "system/tune_interrupts.h"

#define DEFAULT	  "/proc/irq/default_smp_affinity"
#define NAMES_MAX 32
#define KEY_SIZE  1024

/* The names of the folders of /proc/irq/N: each is of who acts on it. */
static unsigned int read_names(int irq, char (*names)[NAME_MAX + 1], unsigned int most)
{
	unsigned int count = 0;
	struct dirent *entry;
	char path[32];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/irq/%d", irq);
	directory = opendir(path);
	while (directory && count < most && (entry = readdir(directory))) {
		if (entry->d_type == DT_DIR && *entry->d_name != '.')
			snprintf(names[count++], sizeof(*names), "%s", entry->d_name);
	}
	if (directory)
		closedir(directory);
	return count;
}

static int irq_of(const char *key)
{
	return atoi(key + strlen("/proc/irq/"));
}

static bool has_name(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at; at = strchr(at, '/')) {
		at += at > list;
		if (!strncmp(at, name, length) && (!at[length] || at[length] == '/'))
			return true;
	}
	return false;
}

static void copy_path(const char *key, char *path, size_t size)
{
	snprintf(path, size, "%s", key);
	path[strcspn(path, " ")] = '\0';
}

/* Path of a key's file; ESRCH where the interrupt is another's now. */
static int find_file(const char *key, char path[KEY_SIZE])
{
	char names[NAMES_MAX][NAME_MAX + 1];
	const char *known = strchr(key, ' ');
	unsigned int count;

	copy_path(key, path, KEY_SIZE);
	count = known ? read_names(irq_of(key), names, NAMES_MAX) : 0;
	for (unsigned int i = 0; i < count; i++) {
		if (has_name(known + 1, names[i]))
			return 0;
	}
	return count ? ESRCH : 0;
}

static int read_affinity(const char *key, char *value, size_t size)
{
	char path[KEY_SIZE];
	cpu_set_t cpus;
	int error = find_file(key, path);

	if (error)
		return error;
	if (!file_text(AT_FDCWD, path, value, size))
		return access(path, F_OK) ? ESRCH : errno;
	value[strcspn(value, "\n")] = '\0';
	if (strcmp(path, DEFAULT) != 0)
		return 0;
	if (!cpulist_parse_mask(value, &cpus))
		return ENOTSUP;
	cpulist_format(&cpus, value, size);
	return 0;
}

static int write_affinity(const char *key, const char *value)
{
	char path[KEY_SIZE], mask[CPULIST_SIZE];
	cpu_set_t cpus;
	int error = find_file(key, path);

	if (error)
		return error;
	if (strcmp(path, DEFAULT) != 0)
		return file_write(path, value);
	if (!cpulist_parse(value, &cpus))
		return EINVAL;
	cpulist_format_mask(&cpus, mask, sizeof(mask));
	return file_write(path, mask);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	const char *names;

	copy_path(key, where, size);
	names = strchr(key, ' ');
	if (!strcmp(key, DEFAULT))
		snprintf(what, size, "interrupts to come");
	else if (names)
		snprintf(what, size, "interrupt %d (%.*s)", irq_of(key),
			 (int)strcspn(names + 1, "/"), names + 1);
	else
		snprintf(what, size, "interrupt %d", irq_of(key));
}

static const char *immovable(int error)
{
	if (error != EIO && error != EINVAL && error != EPERM)
		return NULL;
	return "the kernel keeps this interrupt where it is: it belongs to one CPU, or its driver spreads it";
}

static enum tune_effect effect(const char *key, const char *value, char *why, size_t size)
{
	char path[64], now[CPULIST_SIZE];
	cpu_set_t wanted, used;

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", irq_of(key));
	if (!strcmp(key, DEFAULT) || !file_text(AT_FDCWD, path, now, sizeof(now)) ||
	    !cpulist_parse(now, &used) || !cpulist_parse(value, &wanted) ||
	    cpulist_have(&wanted, &used))
		return EFFECT_FULL;
	snprintf(why, size, "it still goes to CPU %.*s, until it occurs next",
		 (int)strcspn(now, "\n"), now);
	return EFFECT_TO_COME;
}

static const char *lacking(const char *key, const char *value)
{
	char path[KEY_SIZE];

	(void)value;
	return find_file(key, path) ? NULL : capability_to_write(path);
}

static const char *const rivals[] = { "irqbalance", "tuned", NULL };

const struct tune_kind tune_interrupt = {
	.name = "interrupt",
	.read = read_affinity,
	.write = write_affinity,
	.describe = describe,
	.immovable = immovable,
	.effect = effect,
	.lacking = lacking,
	.given_up = cpulist_unplugged,
	.ended = "the interrupt is no longer there, or another device's now",
	.rivals = rivals,
};

static void resolve(const struct tune_rules *rules, const char *key, const char *const *names,
		    struct tune_plan *plan)
{
	char old_value[CPULIST_SIZE], new_value[CPULIST_SIZE];
	cpu_set_t cpus;

	if (read_affinity(key, old_value, sizeof(old_value)) || !cpulist_parse(old_value, &cpus) ||
	    !tune_rules_match_interrupt(rules, names, &cpus))
		return;
	cpulist_format(&cpus, new_value, sizeof(new_value));
	tune_plan_want(plan, &tune_interrupt, key, old_value, new_value);
}

void tune_interrupt_resolve(const struct tune_rules *rules, int irq, struct tune_plan *plan)
{
	char names[NAMES_MAX][NAME_MAX + 1], key[KEY_SIZE];
	const char *pointers[NAMES_MAX + 1];
	unsigned int count = read_names(irq, names, NAMES_MAX);
	int used = snprintf(key, sizeof(key), "/proc/irq/%d/smp_affinity_list", irq);

	for (unsigned int i = 0; i < count; i++) {
		pointers[i] = names[i];
		if ((size_t)used + strlen(names[i]) + 1 < sizeof(key))
			used += snprintf(key + used, sizeof(key) - (size_t)used, "%c%s",
					 strchr(key, ' ') ? '/' : ' ', names[i]);
	}
	pointers[count] = NULL;
	if (count)
		resolve(rules, key, pointers, plan);
}

void tune_interrupts_resolve(const struct tune_rules *rules, struct tune_plan *plan)
{
	static const char *const nobody[] = { NULL };
	DIR *directory = opendir("/proc/irq");
	struct dirent *entry;

	resolve(rules, DEFAULT, nobody, plan);
	while (directory && (entry = readdir(directory))) {
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			tune_interrupt_resolve(rules, atoi(entry->d_name), plan);
	}
	if (directory)
		closedir(directory);
}
