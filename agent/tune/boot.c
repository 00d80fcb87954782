// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of the kernel from the next boot on, in the boot loader's own place.
 *
 * That place is never guessed. It is one of
 *
 *	Debian's GRUB: a file of our own in /etc/default/grub.d, where the machine was
 *		booted by GRUB and its grub-mkconfig reads that folder; update-grub follows
 *	Debian's u-boot-menu: likewise in /etc/u-boot-menu/conf.d, then u-boot-update
 *	a line of one of boot_line.c's files
 *
 * A key is the file's path, its value the parameters, or the line. While our
 * file is undone it holds a comment alone, until the menu has been written: what
 * is killed in between is unfinished, and still ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/file.h"
#include "tune/boot.h"
#include "tune/boot_line.h"
#include "tune/capability.h"
#include "tune/config.h"

#define COMMENT	   "# rtscope undoes this\n"
#define UNFINISHED "unfinished"

/* A program that writes the boot loader's menu from shell fragments. */
static const struct menu {
	const char *folder;
	const char *suffix;
	const char *begin; /* of the fragment's line; parameters and a quotation mark follow */
	const char *update;
	const char *reader; /* a program that reads the fragments if it has the text @reads */
	const char *reads;
	const char *result;
	const char *mark; /* the result has it */
} menus[] = {
	{ .folder = "/etc/default/grub.d",
	  .suffix = ".cfg",
	  .begin = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX ",
	  .update = "/usr/sbin/update-grub",
	  .reader = "/usr/sbin/grub-mkconfig",
	  .reads = "default/grub.d",
	  .result = "/boot/grub/grub.cfg",
	  .mark = "" },
	/* The expression is u-boot-update's default, which it takes only where nothing is set. */
	{ .folder = "/etc/u-boot-menu/conf.d",
	  .suffix = ".conf",
	  .begin =
		  "U_BOOT_PARAMETERS=\"${U_BOOT_PARAMETERS:-$(sed 's/root=[^[:space:]]*//' /etc/kernel/cmdline 2>/dev/null || echo ro quiet)} ",
	  .update = "/usr/sbin/u-boot-update",
	  .reader = "/usr/sbin/u-boot-update",
	  .reads = "u-boot-menu/conf.d",
	  .result = "/boot/extlinux/extlinux.conf",
	  .mark = "u-boot-update" },
};

#define GRUB	   (&menus[0])
#define U_BOOT	   (&menus[1])
#define MENU_COUNT (sizeof(menus) / sizeof(menus[0]))

/* The menu that a key is a fragment of; NULL: it is a file with a line. */
static const struct menu *menu_of(const char *key)
{
	for (size_t i = 0; i < MENU_COUNT; i++) {
		size_t length = strlen(menus[i].folder);

		if (!strncmp(key, menus[i].folder, length) && key[length] == '/')
			return &menus[i];
	}
	return NULL;
}

static int read_boot(const char *key, char *value, size_t size)
{
	const struct menu *menu = menu_of(key);
	char *begin;
	size_t length;

	if (!menu)
		return boot_line_read(key, value, size);
	if (!file_text(AT_FDCWD, key, value, size))
		return 0;
	begin = strstr(value, menu->begin);
	if (!begin) {
		snprintf(value, size, UNFINISHED);
		return 0;
	}
	begin += strlen(menu->begin);
	length = strcspn(begin, "\"");
	memmove(value, begin, length);
	value[length] = '\0';
	return 0;
}

static int update(const struct menu *menu)
{
	int status, null;
	pid_t child = fork();

	if (child < 0)
		return errno;
	if (!child) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setsid(); /* Control-C ends the agent, not what would leave half a file */
		null = open("/dev/null", O_RDWR);
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			dup2(null, fd);
		execl(menu->update, menu->update, (char *)NULL);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return errno;
	}
	return status ? EIO : 0;
}

static bool same(const char *one, const char *other)
{
	return *one && *other && (!strcmp(one, UNFINISHED) || !strcmp(other, UNFINISHED));
}

/* A printf() of it would not compile with the sanitizers, which let @folder be NULL. */
static void parent_of(const char *folder, char parent[64])
{
	size_t length = (size_t)(strrchr(folder, '/') - folder);

	memcpy(parent, folder, length);
	parent[length] = '\0';
}

/* The folder that fragments are read from, and the one above it, may be missing. */
static void make_folder(const char *folder)
{
	char parent[64];

	parent_of(folder, parent);
	mkdir(parent, 0755);
	mkdir(folder, 0755);
}

/* Only u-boot-menu's: its package has no such folder. */
static void remove_empty(const char *folder)
{
	char parent[64];

	parent_of(folder, parent);
	if (!strcmp(folder, U_BOOT->folder) && !rmdir(folder))
		rmdir(parent);
}

/* A write that was killed may have come as far as @value. */
static int replace_fragment(const struct menu *menu, const char *key, const char *before,
			    const char *value)
{
	char text[TUNE_VALUE_SIZE + 256], now[TUNE_VALUE_SIZE], file[TUNE_VALUE_SIZE + 256];
	int error = read_boot(key, now, sizeof(now));

	if (!error && strcmp(now, before) != 0 && strcmp(now, value) != 0 && !same(now, before))
		error = ESTALE;
	if (error)
		return error;
	file_text(AT_FDCWD, key, file, sizeof(file));
	if (*value)
		make_folder(menu->folder);
	snprintf(text, sizeof(text), "%s%s\"\n", menu->begin, value);
	error = config_replace(key, file, *value ? text : COMMENT);
	if (!error)
		error = update(menu);
	if (!error && !*value)
		error = unlink(key) ? errno : 0;
	else if (error && *value && !unlink(key))
		update(menu);
	if (error || !*value)
		remove_empty(menu->folder);
	return error;
}

static int replace_boot(const char *key, const char *before, const char *value)
{
	const struct menu *menu = menu_of(key);

	return menu ? replace_fragment(menu, key, before, value) :
		      boot_line_replace(key, before, value);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	snprintf(where, size, "%s", key);
	snprintf(what, size, "parameters of the kernel");
}

/* Whether a file of any size has @text. */
static bool has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char line[2 * TUNE_VALUE_SIZE];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

static enum tune_effect effect(const char *key, const char *value, char *why, size_t size)
{
	const struct menu *menu = menu_of(key);

	if (menu && !has_text(menu->result, value)) {
		snprintf(why, size, "%s has not put it into %s", strrchr(menu->update, '/') + 1,
			 menu->result);
		return EFFECT_NONE;
	}
	snprintf(why, size, "from the next boot on");
	return EFFECT_TO_COME;
}

static const char *lacking(const char *key, const char *value)
{
	const struct menu *menu = menu_of(key);

	(void)value;
	return capability_to_write(!menu		      ? key :
				   access(menu->folder, F_OK) ? "/etc" :
								menu->folder);
}

const struct tune_kind tune_boot = {
	.name = "boot",
	.read = read_boot,
	.replace = replace_boot,
	.same = same,
	.describe = describe,
	.effect = effect,
	.lacking = lacking,
	.io_error = "update-grub or u-boot-update failed; run it by hand to see why",
	.lasting = true,
};

static bool can_update(const struct menu *menu)
{
	return !access(menu->update, X_OK) && has_text(menu->reader, menu->reads) &&
	       has_text(menu->result, menu->mark);
}

/* The menu that the running kernel was started from for certain; NULL where none is. */
static const struct menu *menu_of_boot(void)
{
	if (has_text("/proc/cmdline", "BOOT_IMAGE="))
		return can_update(GRUB) ? GRUB : NULL;
	return can_update(U_BOOT) && boot_line_has_root(U_BOOT->result) ? U_BOOT : NULL;
}

static void want_fragment(const struct menu *menu, const char *profile, const char *added,
			  struct tune_plan *plan)
{
	char key[256], value[TUNE_VALUE_SIZE] = "";

	snprintf(key, sizeof(key), "%s/rtscope-%s%s", menu->folder, profile, menu->suffix);
	read_boot(key, value, sizeof(value));
	tune_plan_want(plan, &tune_boot, key, value, added);
}

/* False where the line would be longer than a journal's. */
static bool want_line(const char *path, const char *added, struct tune_plan *plan)
{
	char value[TUNE_VALUE_SIZE], wanted[TUNE_VALUE_SIZE];

	if (boot_line_read(path, value, sizeof(value)) ||
	    boot_line_add(path, value, added, wanted, sizeof(wanted)))
		return false;
	tune_plan_want(plan, &tune_boot, path, value, wanted);
	return true;
}

static void report_by_hand(const char *added, const char *why, struct tune_plan *plan)
{
	struct tune_change *change = tune_plan_want(plan, &tune_boot, "/proc/cmdline", "", added);

	if (!change)
		return;
	change->state = TUNE_FAILED;
	snprintf(change->why, sizeof(change->why),
		 "%s: add them to the kernel's command line by hand", why);
}

void tune_boot_resolve(struct tune_rules *rules, struct tune_plan *plan)
{
	char added[TUNE_VALUE_SIZE] = "";
	const struct menu *menu = menu_of_boot();
	const char *file = boot_line_file();
	size_t used = 0;

	for (unsigned int i = 0; i < rules->count && used < sizeof(added); i++) {
		if (rules->rule[i].kind == RULE_BOOT)
			used += (size_t)snprintf(added + used, sizeof(added) - used, "%s%s",
						 used ? " " : "", rules->rule[i].value);
	}
	if (used >= sizeof(added))
		report_by_hand("the parameters of its rules", "no kernel takes so many", plan);
	else if (menu)
		want_fragment(menu, rules->profile, added, plan);
	else if (!file)
		report_by_hand(added,
			       "the boot loader is not recognised (known are Debian's GRUB and u-boot-menu, " BOOT_LINE_LOADERS
			       ")",
			       plan);
	else if (!want_line(file, added, plan) ||
		 (boot_line_for_later(file) && !want_line(boot_line_for_later(file), added, plan)))
		report_by_hand(added, "the boot loader's line would be too long with them", plan);
}
