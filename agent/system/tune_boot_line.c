// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card may hold files of several boot loaders. One counts only where the
 * running kernel has the root file system that stands in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "system/tune_boot_line.h"
#include "system/tune_change.h"
#include "system/tune_config.h"

#define FILE_SIZE (4 * TUNE_VALUE_SIZE)
#define BLANKS	  " \t"

static bool is_told(const char *word, const char *command_line)
{
	size_t length = strlen(word);

	for (const char *at = command_line; (at = strstr(at, word)); at++) {
		if ((at == command_line || strchr(BLANKS, at[-1])) && strchr(" \t\n", at[length]))
			return true;
	}
	return false;
}

/* The rest may be another: firmware changes words, and what was added comes with the next boot. */
static bool has_its_root(char *words, const char *command_line)
{
	for (char *word = strtok(words, " \t\n"); word; word = strtok(NULL, " \t\n")) {
		if (!strncmp(word, "root=", strlen("root=")))
			return is_told(word, command_line);
	}
	return false;
}

static bool is_any(const char *line)
{
	return *line;
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

static bool is_pis(char *file, const char *command_line)
{
	char model[256];

	return file_text(AT_FDCWD, "/proc/device-tree/model", model, sizeof(model)) &&
	       strstr(model, "Raspberry Pi") && has_its_root(file, command_line);
}

/* Its script makes root= of rootdev=. */
static bool is_armbians(char *file, const char *command_line)
{
	static const char device[] = "rootdev=";
	char root[256];

	for (char *line = strtok(file, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, device, strlen(device))) {
			snprintf(root, sizeof(root), "root=%s", line + strlen(device));
			return is_told(root, command_line);
		}
	}
	return false;
}

/* With one entry. What u-boot-update makes of other files it would make again. */
static bool is_extlinux(char *file, const char *command_line)
{
	char *append = NULL;

	if (strstr(file, "u-boot-update"))
		return false;
	for (char *line = strtok(file, "\n"); line; line = strtok(NULL, "\n")) {
		line += strspn(line, BLANKS);
		if (!is_append(line))
			continue;
		if (append)
			return false;
		append = line;
	}
	return append && has_its_root(append, command_line);
}

static const struct loader {
	const char *path;
	bool (*is_line)(const char *line); /* without the blanks before it */
	const char *fresh;		   /* what such a line begins with; NULL: it is there */
	bool (*has_booted)(char *file, const char *command_line);
} loaders[] = {
	{ "/boot/firmware/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/armbianEnv.txt", is_extraargs, "extraargs=", is_armbians },
	{ "/boot/extlinux/extlinux.conf", is_append, NULL, is_extlinux },
};

#define LOADER_COUNT (sizeof(loaders) / sizeof(loaders[0]))

/* False for one that is not there, or larger than any of these. */
static bool read_file(const char *path, char file[FILE_SIZE])
{
	size_t size = file_text(AT_FDCWD, path, file, FILE_SIZE);

	return size > 0 && size < FILE_SIZE - 1;
}

const char *boot_line_file(void)
{
	char file[FILE_SIZE], command_line[TUNE_VALUE_SIZE];

	file_text(AT_FDCWD, "/proc/cmdline", command_line, sizeof(command_line));
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		if (read_file(loaders[i].path, file) && loaders[i].has_booted(file, command_line))
			return loaders[i].path;
	}
	return NULL;
}

static const struct loader *loader_of(const char *path)
{
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		if (!strcmp(loaders[i].path, path))
			return &loaders[i];
	}
	return NULL;
}

/* The file, and its line in it, at its end where there is none. */
static int find_line(const char *path, char file[FILE_SIZE], char **line)
{
	const struct loader *loader = loader_of(path);

	if (!loader || !read_file(path, file))
		return ESRCH;
	*line = file;
	while (**line) {
		*line += strspn(*line, BLANKS);
		if (loader->is_line(*line))
			return 0;
		*line += strcspn(*line, "\n");
		*line += **line == '\n';
	}
	return loader->fresh ? 0 : ESRCH;
}

int boot_line_read(const char *path, char *line, size_t size)
{
	char file[FILE_SIZE], *found;
	int error = find_line(path, file, &found);

	if (error)
		return error;
	found[strcspn(found, "\n")] = '\0';
	return (size_t)snprintf(line, size, "%s", found) < size ? 0 : EFBIG;
}

int boot_line_write(const char *path, const char *line)
{
	char file[FILE_SIZE], text[FILE_SIZE + TUNE_VALUE_SIZE], *found;
	int error = find_line(path, file, &found);
	const char *rest, *before, *after;

	if (error)
		return error;
	rest = found + strcspn(found, "\n");
	rest += *rest == '\n';
	before = found > file && found[-1] != '\n' && !strchr(BLANKS, found[-1]) ? "\n" : "";
	after = *line ? "\n" : "";
	snprintf(text, sizeof(text), "%.*s%s%s%s%s", (int)(found - file), file, before, line, after,
		 rest);
	return config_replace(path, text);
}

void boot_line_add(const char *path, const char *line, const char *added, char *wanted, size_t size)
{
	if (strstr(line, added))
		snprintf(wanted, size, "%s", line);
	else if (*line)
		snprintf(wanted, size, "%s%s%s", line, line[strlen(line) - 1] == '=' ? "" : " ",
			 added);
	else
		snprintf(wanted, size, "%s%s", loader_of(path)->fresh, added);
}
