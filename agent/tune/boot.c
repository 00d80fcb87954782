// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters of the kernel from the next boot on, in the boot loader's own place.
 *
 * That place is never guessed. It is one of
 *
 *	Debian's GRUB: a file of our own in /etc/default/grub.d, where the machine was
 *		booted by GRUB and its grub-mkconfig reads that folder; update-grub follows
 *	a line of one of tune_boot_line.c's files
 *
 * A key is the file's path, its value the parameters, or the line. While our
 * file is taken back it holds a comment alone, until update-grub has ended: what
 * is killed in between is unfinished, and still ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/file.h"
#include "tune/boot.h"
#include "tune/boot_line.h"
#include "tune/capability.h"
#include "tune/config.h"

#define GRUB_FOLDER "/etc/default/grub.d"
#define GRUB_RESULT "/boot/grub/grub.cfg"
#define GRUB_MAKE   "/usr/sbin/grub-mkconfig"
#define GRUB_UPDATE "/usr/sbin/update-grub"
#define GRUB_BEGIN  "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX "
#define COMMENT	    "# rtscope takes this back\n"
#define UNFINISHED  "unfinished"

static bool is_grub(const char *key)
{
	return !strncmp(key, GRUB_FOLDER "/", strlen(GRUB_FOLDER "/"));
}

static int read_boot(const char *key, char *value, size_t size)
{
	char *begin;
	size_t length;

	if (!is_grub(key))
		return boot_line_read(key, value, size);
	if (!file_text(AT_FDCWD, key, value, size))
		return 0;
	begin = strstr(value, GRUB_BEGIN);
	if (!begin) {
		snprintf(value, size, UNFINISHED);
		return 0;
	}
	begin += strlen(GRUB_BEGIN);
	length = strcspn(begin, "\"");
	memmove(value, begin, length);
	value[length] = '\0';
	return 0;
}

static int update_grub(void)
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
		execl(GRUB_UPDATE, GRUB_UPDATE, (char *)NULL);
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

/* A write that was killed may have come as far as @value. */
static int replace_grub(const char *key, const char *before, const char *value)
{
	char text[TUNE_VALUE_SIZE + 64], now[TUNE_VALUE_SIZE], file[TUNE_VALUE_SIZE + 64];
	int error = read_boot(key, now, sizeof(now));

	if (!error && strcmp(now, before) != 0 && strcmp(now, value) != 0 && !same(now, before))
		error = ESTALE;
	if (error)
		return error;
	file_text(AT_FDCWD, key, file, sizeof(file));
	snprintf(text, sizeof(text), GRUB_BEGIN "%s\"\n", value);
	error = config_replace(key, file, *value ? text : COMMENT);
	if (!error)
		error = update_grub();
	if (!error && !*value)
		return unlink(key) ? errno : 0;
	if (error && *value && !unlink(key))
		update_grub();
	return error;
}

static int replace_boot(const char *key, const char *before, const char *value)
{
	return is_grub(key) ? replace_grub(key, before, value) :
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
	if (is_grub(key) && !has_text(GRUB_RESULT, value)) {
		snprintf(why, size, "update-grub has not put it into " GRUB_RESULT);
		return EFFECT_NONE;
	}
	snprintf(why, size, "from the next boot on");
	return EFFECT_TO_COME;
}

static const char *lacking(const char *key, const char *value)
{
	(void)value;
	return capability_to_write(is_grub(key) ? GRUB_FOLDER : key);
}

const struct tune_kind tune_boot = {
	.name = "boot",
	.read = read_boot,
	.replace = replace_boot,
	.same = same,
	.describe = describe,
	.effect = effect,
	.lacking = lacking,
	.io_error = "update-grub failed; run it by hand to see why",
	.lasting = true,
};

static bool booted_by_grub(void)
{
	return has_text("/proc/cmdline", "BOOT_IMAGE=") && !access(GRUB_RESULT, F_OK) &&
	       !access(GRUB_FOLDER, F_OK) && !access(GRUB_UPDATE, X_OK) &&
	       has_text(GRUB_MAKE, "default/grub.d");
}

static void want_grub(const char *profile, const char *added, struct tune_plan *plan)
{
	char key[256], value[TUNE_VALUE_SIZE] = "";

	snprintf(key, sizeof(key), GRUB_FOLDER "/rtscope-%s.cfg", profile);
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

static void tell_by_hand(const char *added, const char *why, struct tune_plan *plan)
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
	const char *file = boot_line_file();
	size_t used = 0;

	for (unsigned int i = 0; i < rules->count && used < sizeof(added); i++) {
		if (rules->rule[i].kind == RULE_BOOT)
			used += (size_t)snprintf(added + used, sizeof(added) - used, "%s%s",
						 used ? " " : "", rules->rule[i].value);
	}
	if (used >= sizeof(added))
		tell_by_hand("the parameters of its rules", "no kernel takes so many", plan);
	else if (booted_by_grub())
		want_grub(rules->profile, added, plan);
	else if (!file)
		tell_by_hand(added,
			     "the boot loader is none that is known for certain (GRUB as Debian has it, " BOOT_LINE_LOADERS
			     ")",
			     plan);
	else if (!want_line(file, added, plan))
		tell_by_hand(added, "the boot loader's line would be too long with them", plan);
}
