// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs interrupts go to, as rules want it.
 *
 * A key is the path of the kernel's file. All of them are read and written as
 * lists, the default for interrupts to come too, which the kernel has as a mask.
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

static int read_affinity(const char *path, char *value, size_t size)
{
	cpu_set_t cpus;

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

static int write_affinity(const char *path, const char *value)
{
	char mask[CPULIST_SIZE];
	cpu_set_t cpus;

	if (strcmp(path, DEFAULT) != 0)
		return file_write(path, value);
	if (!cpulist_parse(value, &cpus))
		return EINVAL;
	cpulist_format_mask(&cpus, mask, sizeof(mask));
	return file_write(path, mask);
}

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

static void describe(const char *key, char *what, char *where, size_t size)
{
	char names[1][NAME_MAX + 1] = { "" };
	int irq = atoi(key + strlen("/proc/irq/"));

	snprintf(where, size, "%s", key);
	if (!strcmp(key, DEFAULT))
		snprintf(what, size, "interrupts to come");
	else if (read_names(irq, names, 1))
		snprintf(what, size, "interrupt %d (%.100s)", irq, names[0]);
	else
		snprintf(what, size, "interrupt %d", irq);
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

	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list",
		 atoi(key + strlen("/proc/irq/")));
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
	(void)value;
	return access(key, W_OK) && errno == EACCES ? capability_lacking(CAPABILITY_DAC_OVERRIDE) :
						      NULL;
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
	.rivals = rivals,
};

static void resolve(const struct tune_rules *rules, const char *path, const char *const *names,
		    struct tune_plan *plan)
{
	char old_value[CPULIST_SIZE], new_value[CPULIST_SIZE];
	cpu_set_t cpus;

	if (read_affinity(path, old_value, sizeof(old_value)) || !cpulist_parse(old_value, &cpus) ||
	    !tune_rules_match_interrupt(rules, names, &cpus))
		return;
	cpulist_format(&cpus, new_value, sizeof(new_value));
	tune_plan_want(plan, &tune_interrupt, path, old_value, new_value);
}

void tune_interrupt_resolve(const struct tune_rules *rules, int irq, struct tune_plan *plan)
{
	char names[NAMES_MAX][NAME_MAX + 1], path[64];
	const char *pointers[NAMES_MAX + 1];
	unsigned int count = read_names(irq, names, NAMES_MAX);

	for (unsigned int i = 0; i < count; i++)
		pointers[i] = names[i];
	pointers[count] = NULL;
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", irq);
	if (count)
		resolve(rules, path, pointers, plan);
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
