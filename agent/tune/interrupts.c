// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs interrupts go to, as rules want it.
 *
 * A key is the path of the kernel's file and, behind a blank, what identifies the interrupt: the
 * names of its actions and, behind "//", its number within its chip and the chip's name, as in
 * "eth0/snd//17 PCI-MSI". The number alone is not enough, for the kernel frees it and gives it to
 * another device. Actions may come and go: a key fits as long as one of its actions is there, or,
 * where there is none, as long as the chip and the number within it are the same.
 *
 * All files are read and written as lists, also the one for new interrupts, which the kernel has as
 * a mask. An interrupt without an action is left alone: what may act on it later begins with the
 * default.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/cpus.h"
#include "tune/capability.h"
#include "tune/files.h"
#include "tune/interrupts.h"

#define DEFAULT	  "/proc/irq/default_smp_affinity"
#define NAMES_MAX 32
#define KEY_SIZE  1024

/* The names of the folders of /proc/irq/N: each is that of an action. */
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

/* Read its number within its chip, and the chip; empty if the kernel does not show them. */
static void read_hardware(int irq, char *hardware, size_t size)
{
	char path[64], number[32], chip[128];

	snprintf(path, sizeof(path), "/sys/kernel/irq/%d/hwirq", irq);
	file_text(AT_FDCWD, path, number, sizeof(number));
	snprintf(path, sizeof(path), "/sys/kernel/irq/%d/chip_name", irq);
	file_text(AT_FDCWD, path, chip, sizeof(chip));
	number[strcspn(number, "\n")] = chip[strcspn(chip, "\n")] = '\0';
	snprintf(hardware, size, *number ? "%s %s" : "", number, chip);
}

/* Whether it is still the interrupt that the key was made of. */
static bool is_there(const char *key)
{
	char names[NAMES_MAX][NAME_MAX + 1], hardware[192];
	const char *known = strchr(key, ' '), *known_hardware;
	unsigned int count;

	if (!known)
		return true; /* the default */
	read_hardware(irq_of(key), hardware, sizeof(hardware));
	known_hardware = strstr(known, "//");
	if (known_hardware && *hardware && strcmp(known_hardware + 2, hardware) != 0)
		return false;
	count = read_names(irq_of(key), names, NAMES_MAX);
	for (unsigned int i = 0; i < count; i++) {
		if (has_name(known + 1, names[i]))
			return true;
	}
	return !count && known_hardware && *hardware;
}

static int read_affinity(const char *key, char *value, size_t size)
{
	char path[KEY_SIZE];
	cpu_set_t cpus;

	if (!is_there(key))
		return ESRCH;
	copy_path(key, path, sizeof(path));
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

/*
 * The file is opened before the interrupt is identified: the kernel fails a write to an open file
 * of an interrupt that it has freed, whoever has the number by then.
 */
static int write_checked(const char *key, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	if (!is_there(key))
		error = ESRCH;
	else if (write(fd, text, strlen(text)) < 0)
		error = errno == EIO && !is_there(key) ? ESRCH : errno;
	close(fd);
	return error;
}

static int write_affinity(const char *key, const char *value)
{
	char path[KEY_SIZE], mask[CPULIST_SIZE];
	cpu_set_t cpus;

	copy_path(key, path, sizeof(path));
	if (strcmp(path, DEFAULT) != 0)
		return write_checked(key, path, value);
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
		snprintf(what, size, "new interrupts");
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
	copy_path(key, path, sizeof(path));
	return is_there(key) ? capability_to_write(path) : NULL;
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
	.given_up = cpus_unplugged,
	.ended = "the interrupt is gone, or its number belongs to another device now",
	.rivals = rivals,
};

static void resolve(const struct tune_rules *rules, const char *key, const char *const *names,
		    struct tune_plan *plan)
{
	char old_value[CPULIST_SIZE], new_value[CPULIST_SIZE];
	const struct tune_rule *rule;
	struct tune_change *change;
	cpu_set_t cpus;

	if (read_affinity(key, old_value, sizeof(old_value)) || !cpulist_parse(old_value, &cpus))
		return;
	rule = tune_rules_match_interrupt(rules, names, &cpus);
	if (!rule)
		return;
	cpulist_format(&cpus, new_value, sizeof(new_value));
	change = tune_plan_want(plan, &tune_interrupt, key, old_value, new_value);
	if (change)
		change->rule = rule;
}

void tune_interrupt_resolve(const struct tune_rules *rules, int irq, struct tune_plan *plan)
{
	char names[NAMES_MAX][NAME_MAX + 1], key[KEY_SIZE];
	const char *pointers[NAMES_MAX + 1];
	unsigned int count = read_names(irq, names, NAMES_MAX);
	char hardware[192];
	int used = snprintf(key, sizeof(key), "/proc/irq/%d/smp_affinity_list", irq);

	for (unsigned int i = 0; i < count; i++) {
		pointers[i] = names[i];
		if ((size_t)used + strlen(names[i]) + 1 < sizeof(key))
			used += snprintf(key + used, sizeof(key) - (size_t)used, "%c%s",
					 strchr(key, ' ') ? '/' : ' ', names[i]);
	}
	pointers[count] = NULL;
	read_hardware(irq, hardware, sizeof(hardware));
	if (*hardware && (size_t)used + strlen(hardware) + 2 < sizeof(key))
		snprintf(key + used, sizeof(key) - (size_t)used, "//%s", hardware);
	if (count)
		resolve(rules, key, pointers, plan);
}

void tune_interrupts_resolve(const struct tune_rules *rules, struct tune_plan *plan)
{
	static const char *const nobody[] = { NULL };
	DIR *directory = opendir("/proc/irq");
	int irq;

	resolve(rules, DEFAULT, nobody, plan);
	while ((irq = directory_next_number(directory)) >= 0)
		tune_interrupt_resolve(rules, irq, plan);
	if (directory)
		closedir(directory);
}
