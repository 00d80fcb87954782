// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card may hold files of several boot loaders. One counts only where the
 * running kernel has the root file system that stands in it, and no other's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "proc/file.h"
#include "tune/boot_line.h"
#include "tune/change.h"
#include "tune/config.h"

#define FILE_SIZE (4 * TUNE_VALUE_SIZE)
#define BLANKS	  " \t"
#define END	  "\r\n"

static bool is_passed(const char *word, const char *command_line)
{
	size_t length = strlen(word);

	for (const char *at = command_line; (at = strstr(at, word)); at++) {
		if ((at == command_line || strchr(BLANKS, at[-1])) &&
		    strchr(BLANKS END, at[length]))
			return true;
	}
	return false;
}

/* The rest may be another: firmware changes words, and what was added comes with the next boot. */
static bool has_its_root(char *words, const char *command_line)
{
	for (char *word = strtok(words, BLANKS END); word; word = strtok(NULL, BLANKS END)) {
		if (!strncmp(word, "root=", strlen("root=")))
			return is_passed(word, command_line);
	}
	return false;
}

static bool is_any(const char *line)
{
	return !strchr(END, *line);
}

static bool is_extraargs(const char *line)
{
	return !strncmp(line, "extraargs=", strlen("extraargs="));
}

static bool is_append(const char *line)
{
	size_t length = strlen("append");

	return !strncasecmp(line, "append", length) && strchr(BLANKS, line[length]);
}

static bool is_pis(char *file, char *line, const char *command_line)
{
	char model[256];

	(void)file;
	return file_text(AT_FDCWD, "/proc/device-tree/model", model, sizeof(model)) &&
	       strstr(model, "Raspberry Pi") && has_its_root(line, command_line);
}

/* Its script makes root= of rootdev=, of the last one. */
static bool is_armbians(char *file, char *line, const char *command_line)
{
	static const char device[] = "rootdev=";
	bool passed = false;
	char root[256];

	(void)line;
	for (line = strtok(file, END); line; line = strtok(NULL, END)) {
		line += strspn(line, BLANKS);
		if (!strncmp(line, device, strlen(device))) {
			snprintf(root, sizeof(root), "root=%s", line + strlen(device));
			passed = is_passed(root, command_line);
		}
	}
	return passed;
}

/* With one entry. What u-boot-update makes of other files it would make again. */
static bool is_extlinux(char *file, char *line, const char *command_line)
{
	unsigned int entries = 0;

	if (strstr(file, "u-boot-update"))
		return false;
	for (char *other = strtok(file, END); other; other = strtok(NULL, END))
		entries += !strncasecmp(other + strspn(other, BLANKS), "label", strlen("label"));
	return entries <= 1 && has_its_root(line, command_line);
}

static const struct loader {
	const char *path;
	bool (*is_line)(const char *line); /* without the blanks before it */
	const char *fresh;		   /* what such a line begins with; NULL: it is there */
	bool (*has_booted)(char *file, char *line, const char *command_line);
} loaders[] = {
	{ "/boot/firmware/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/armbianEnv.txt", is_extraargs, "extraargs=", is_armbians },
	{ "/boot/extlinux/extlinux.conf", is_append, NULL, is_extlinux },
};

#define LOADER_COUNT (sizeof(loaders) / sizeof(loaders[0]))

/* 0 or an errno; a text of the size that these files have. */
static int read_file(const char *path, char file[FILE_SIZE])
{
	size_t size;

	errno = 0;
	size = file_text(AT_FDCWD, path, file, FILE_SIZE);
	if (!size)
		return errno ? errno : ENODATA;
	return size == FILE_SIZE - 1 ? EFBIG : strlen(file) == size ? 0 : EILSEQ;
}

static const struct loader *loader_of(const char *path)
{
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		if (!strcmp(loaders[i].path, path))
			return &loaders[i];
	}
	return NULL;
}

/* The first such line from @text on, behind its blanks; the text's end where there is none. */
static char *find_line(char *text, const struct loader *loader)
{
	while (*text) {
		text += strspn(text, BLANKS);
		if (loader->is_line(text))
			return text;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

/* Of two lines one would have to know which the loader takes. */
static bool has_at_most_one(char *file, const struct loader *loader)
{
	char *line = find_line(file, loader);

	return !*find_line(line + strcspn(line, "\n"), loader);
}

/* 0 or an errno: the file, and its line in it, or its end where that may be added. */
static int read_line(const struct loader *loader, char file[FILE_SIZE], char **line)
{
	int error = read_file(loader->path, file);

	if (error)
		return error;
	if (!has_at_most_one(file, loader))
		return EINVAL;
	*line = find_line(file, loader);
	return **line || loader->fresh ? 0 : ENODATA;
}

static bool has_booted(const struct loader *loader, const char *command_line)
{
	char file[FILE_SIZE], line[FILE_SIZE], *found;

	if (read_line(loader, file, &found))
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(found, END), found);
	return loader->has_booted(file, line, command_line);
}

static bool are_same(const char *path, const char *other)
{
	struct stat one, two;

	return !stat(path, &one) && !stat(other, &two) && one.st_dev == two.st_dev &&
	       one.st_ino == two.st_ino;
}

const char *boot_line_file(void)
{
	const char *path = NULL;
	char command_line[TUNE_VALUE_SIZE];

	file_text(AT_FDCWD, "/proc/cmdline", command_line, sizeof(command_line));
	if (strstr(command_line, "BOOT_IMAGE="))
		return NULL; /* GRUB's */
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		if (!has_booted(&loaders[i], command_line) ||
		    (path && are_same(path, loaders[i].path)))
			continue;
		if (path)
			return NULL;
		path = loaders[i].path;
	}
	return path;
}

int boot_line_read(const char *path, char *line, size_t size)
{
	const struct loader *loader = loader_of(path);
	char file[FILE_SIZE], *found;
	int error = loader ? read_line(loader, file, &found) : EINVAL;

	if (error)
		return error;
	found[strcspn(found, END)] = '\0';
	return (size_t)snprintf(line, size, "%s", found) < size ? 0 : EFBIG;
}

static bool is_line(const char *found, const char *line)
{
	size_t length = strlen(line);

	return strcspn(found, END) == length && !strncmp(found, line, length);
}

int boot_line_replace(const char *path, const char *old_line, const char *line)
{
	const struct loader *loader = loader_of(path);
	char file[FILE_SIZE], text[FILE_SIZE + TUNE_VALUE_SIZE], *found;
	int error = loader ? read_line(loader, file, &found) : EINVAL;
	const char *rest, *before = "", *after = "";

	if (error)
		return error;
	if (!is_line(found, old_line) && !is_line(found, line))
		return ESTALE;
	rest = found + strcspn(found, END);
	if (!*line) {
		rest += strspn(rest, "\r");
		rest += *rest == '\n';
	} else if (!*found) {
		before = found > file && found[-1] != '\n' ? "\n" : "";
		after = "\n";
	}
	snprintf(text, sizeof(text), "%.*s%s%s%s%s", (int)(found - file), file, before, line, after,
		 rest);
	return config_replace(path, file, text);
}

int boot_line_add(const char *path, const char *line, const char *added, char *wanted, size_t size)
{
	const char *fresh = loader_of(path)->fresh, *begin = *line ? line : fresh;
	const char *words = line + (*line && fresh ? strlen(fresh) : 0);
	const char *more = is_passed(added, words) ? "" : added;
	const char *blank = *words && *more ? " " : "";

	return (size_t)snprintf(wanted, size, "%s%s%s", begin, blank, more) < size ? 0 : EFBIG;
}
