// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings that the kernel has as files, as rules want them.
 *
 * The kernel does not always print what was written: it shows a choice among the
 * others, as in "always [madvise] never", a truth as Y, a mask with zeros in
 * front, a list of CPUs with ranges. Such values count as the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/paths.h"
#include "tune/capability.h"
#include "tune/files.h"

#define FIRST_CPU "/sys/devices/system/cpu/cpu0/"

/* A write of no bytes changes nothing: a value that is empty is put back as an empty line. */
int file_write(const char *path, const char *text)
{
	int error = 0, fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	if (!*text)
		text = "\n";
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/* Of "always [madvise] never" the word in brackets. */
static void keep_choice(char *value)
{
	char *first = strchr(value, '['), *last = first ? strchr(first, ']') : NULL;

	if (!last || (first != value && first[-1] != ' ') || (last[1] && last[1] != ' '))
		return;
	*last = '\0';
	memmove(value, first + 1, strlen(first + 1) + 1);
}

static int read_value(const char *path, char *value, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? ESRCH : errno;
	got = read(fd, value, size - 1);
	close(fd);
	if (got < 0)
		return errno;
	if ((size_t)got == size - 1)
		return EFBIG; /* it could not be put back */
	value[got] = '\0';
	while (got && strchr("\n ", value[got - 1]))
		value[--got] = '\0';
	keep_choice(value);
	return 0;
}

/*
 * Decimal unless it begins with 0x. Never octal: the kernel prints a mask with zeros in front, and
 * "010" as octal would be the mask "8".
 */
static bool read_number(const char *text, long long *number)
{
	bool negative = *text == '-';
	const char *digits = text + negative;
	bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;

	errno = 0;
	*number = strtoll(text, &end, hexadecimal ? 16 : 10);
	return *digits >= '0' && *digits <= '9' && !*end && !errno;
}

static bool same_number(const char *one, const char *other)
{
	long long a, b;

	return read_number(one, &a) && read_number(other, &b) && a == b;
}

/* 1, 0, or -1 for what is no truth. */
static int truth(const char *text)
{
	return !*text || text[1] ? -1 : strchr("Yy1", *text) ? 1 : strchr("Nn0", *text) ? 0 : -1;
}

static bool same_mask(const char *one, const char *other)
{
	cpu_set_t a, b;

	return cpulist_parse_mask(one, &a) && cpulist_parse_mask(other, &b) && CPU_EQUAL(&a, &b);
}

/* The kernel prints 0-3 for 0,1,2,3. */
static bool same_list(const char *one, const char *other)
{
	cpu_set_t a, b;

	return *one && *other && cpulist_parse(one, &a) && cpulist_parse(other, &b) &&
	       CPU_EQUAL(&a, &b);
}

static bool same(const char *one, const char *other)
{
	return same_number(one, other) || (truth(one) >= 0 && truth(one) == truth(other)) ||
	       same_mask(one, other) || same_list(one, other);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	const char *name = strrchr(key, '/');

	snprintf(what, size, "%s", name ? name + 1 : key);
	snprintf(where, size, "%s", key);
}

static const char *lacking(const char *key, const char *value)
{
	(void)value;
	return capability_to_write(key);
}

static const char *const rivals[] = { "tuned", "power-profiles-daemon", "thermald", "tlp", NULL };

const struct tune_kind tune_file = {
	.name = "file",
	.read = read_value,
	.write = file_write,
	.same = same,
	.describe = describe,
	.lacking = lacking,
	.rivals = rivals,
};

static bool is_setting(const char *path)
{
	return !strncmp(path, "/proc/sys/", 10) || !strncmp(path, "/sys/", 5);
}

/* Either file takes the CPU away, the second step by step. */
static bool unplugs_first(const char *path, const char *wanted)
{
	return !strcmp(path, FIRST_CPU "hotplug/target") ||
	       (!strcmp(path, FIRST_CPU "online") && truth(wanted) != 1);
}

static void resolve(const char *path, const char *wanted, struct tune_plan *plan)
{
	char value[TUNE_VALUE_SIZE] = "";
	struct tune_change *change;
	int error = read_value(path, value, sizeof(value));

	change = tune_plan_want(plan, &tune_file, path, value, wanted);
	if (change && unplugs_first(path, wanted)) {
		change->state = TUNE_FAILED;
		snprintf(change->why, sizeof(change->why), "CPU 0 stays usable");
		return;
	}
	if (!change || !error)
		return;
	change->state = TUNE_FAILED;
	snprintf(change->why, sizeof(change->why),
		 "it cannot be read (%s), so it could not be restored", strerror(error));
}

struct search {
	file_found_fn *found;
	void *context;
};

static bool found_path(const char *path, void *context)
{
	const struct search *search = context;
	char real[PATH_MAX];

	if (realpath(path, real) && is_setting(real))
		search->found(real, search->context);
	return true;
}

void files_found(const char *pattern, file_found_fn *found, void *context)
{
	struct search search = { found, context };

	paths_matching("", pattern, found_path, &search);
}

bool file_can_be_written(const char *path)
{
	struct stat file;

	return !stat(path, &file) && S_ISREG(file.st_mode) && file.st_mode & S_IWUSR;
}

struct finding {
	struct tune_rule *rule;
	struct tune_plan *plan;
};

static void resolve_found(const char *path, void *context)
{
	const struct finding *finding = context;

	finding->rule->matched = true;
	resolve(path, finding->rule->value, finding->plan);
}

void tune_files_resolve(struct tune_rule *rule, struct tune_plan *plan)
{
	struct finding finding = { rule, plan };

	files_found(rule->name, resolve_found, &finding);
}
