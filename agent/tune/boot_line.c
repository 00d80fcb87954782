// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card may hold files of several boot loaders. One counts only where the
 * running kernel has the root file system that stands in it, and no other's.
 *
 * systemd-boot, and GRUB as Fedora has it, read one file for each kernel (the Boot
 * Loader Specification). That of the running kernel names its release. kernel-install
 * writes those of later kernels from /etc/kernel/cmdline, which gets the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "proc/file.h"
#include "tune/boot_line.h"
#include "tune/change.h"
#include "tune/config.h"

#define FILE_SIZE (4 * TUNE_VALUE_SIZE)
#define BLANKS	  " \t"
#define END	  "\r\n"
#define LATER	  "/etc/kernel/cmdline"

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

static bool is_options(const char *line)
{
	size_t length = strlen("options");

	return !strncmp(line, "options", length) && strchr(BLANKS, line[length]);
}

/* Whether a path has the running kernel's release between two marks, or at its end. */
static bool names_release(const char *path)
{
	struct utsname system;
	size_t length;

	if (uname(&system))
		return false;
	length = strlen(system.release);
	for (const char *at = path; (at = strstr(at, system.release)); at++) {
		if (at > path && strchr("/-", at[-1]) && strchr("/" BLANKS END, at[length]))
			return true;
	}
	return false;
}

/* An entry with variables of GRUB's would need its environment block, too. */
static bool is_entry(char *file, char *line, const char *command_line)
{
	bool named = false;

	if (strchr(line, '$'))
		return false;
	for (char *other = strtok(file, END); other; other = strtok(NULL, END)) {
		other += strspn(other, BLANKS);
		named |= !strncmp(other, "linux", strlen("linux")) && names_release(other);
	}
	return named && has_its_root(line, command_line);
}

static const struct loader {
	const char *path; /* with a * at its end: any file there, of the suffix .conf */
	bool (*is_line)(const char *line); /* without the blanks before it */
	const char *fresh;		   /* what such a line begins with; NULL: it is there */
	bool (*has_booted)(char *file, char *line, const char *command_line);
} loaders[] = {
	{ "/boot/firmware/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/cmdline.txt", is_any, NULL, is_pis },
	{ "/boot/armbianEnv.txt", is_extraargs, "extraargs=", is_armbians },
	{ "/boot/extlinux/extlinux.conf", is_append, NULL, is_extlinux },
	{ "/boot/loader/entries/*", is_options, NULL, is_entry },
	{ "/boot/efi/loader/entries/*", is_options, NULL, is_entry },
	{ "/efi/loader/entries/*", is_options, NULL, is_entry },
	{ LATER, is_any, NULL, NULL },
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

static bool is_folder(const struct loader *loader)
{
	return loader->path[strlen(loader->path) - 1] == '*';
}

static const struct loader *loader_of(const char *path)
{
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		size_t length = strlen(loaders[i].path) - is_folder(&loaders[i]);

		if (is_folder(&loaders[i]) ?
			    !strncmp(loaders[i].path, path, length) && !strchr(path + length, '/') :
			    !strcmp(loaders[i].path, path))
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
static int read_line(const struct loader *loader, const char *path, char file[FILE_SIZE],
		     char **line)
{
	int error = read_file(path, file);

	if (error)
		return error;
	if (!has_at_most_one(file, loader))
		return EINVAL;
	*line = find_line(file, loader);
	return **line || loader->fresh ? 0 : ENODATA;
}

static bool has_booted(const struct loader *loader, const char *path, const char *command_line)
{
	char file[FILE_SIZE], line[FILE_SIZE], *found;

	if (!loader->has_booted || read_line(loader, path, file, &found))
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

/* Keep @path, if it is another file than the one found before, in @found; of two none counts. */
static void note_booted(const char *path, char *found, size_t size, unsigned int *count)
{
	if (*count && are_same(path, found))
		return;
	snprintf(found, size, "%s", path);
	++*count;
}

static void note_entries(const struct loader *loader, const char *command_line, char *found,
			 size_t size, unsigned int *count)
{
	char path[PATH_MAX];
	int length = (int)strlen(loader->path) - 1;
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%.*s", length, loader->path);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		const char *suffix = strrchr(entry->d_name, '.');

		snprintf(path, sizeof(path), "%.*s%s", length, loader->path, entry->d_name);
		if (suffix && !strcmp(suffix, ".conf") && has_booted(loader, path, command_line))
			note_booted(path, found, size, count);
	}
	if (folder)
		closedir(folder);
}

const char *boot_line_file(void)
{
	static char found[PATH_MAX];
	char command_line[TUNE_VALUE_SIZE];
	unsigned int count = 0;
	bool grub;

	file_text(AT_FDCWD, "/proc/cmdline", command_line, sizeof(command_line));
	grub = strstr(command_line, "BOOT_IMAGE=") != NULL; /* it reads entries alone of these */
	for (size_t i = 0; i < LOADER_COUNT; i++) {
		const struct loader *loader = &loaders[i];

		if (is_folder(loader))
			note_entries(loader, command_line, found, sizeof(found), &count);
		else if (!grub && has_booted(loader, loader->path, command_line))
			note_booted(loader->path, found, sizeof(found), &count);
	}
	return count == 1 ? found : NULL;
}

const char *boot_line_for_later(const char *path)
{
	char file[FILE_SIZE], *line;
	const struct loader *loader = loader_of(path), *later = loader_of(LATER);

	return is_folder(loader) && !read_line(later, LATER, file, &line) ? LATER : NULL;
}

bool boot_line_has_root(const char *path)
{
	char file[FILE_SIZE], command_line[TUNE_VALUE_SIZE];
	bool found = false;

	file_text(AT_FDCWD, "/proc/cmdline", command_line, sizeof(command_line));
	if (read_file(path, file))
		return false;
	for (char *line = file; *line && !found;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		char words[FILE_SIZE];
		size_t length;

		line += strspn(line, BLANKS);
		length = strcspn(line, END);
		memcpy(words, line, length);
		words[length] = '\0';
		found = is_append(line) && has_its_root(words, command_line);
	}
	return found;
}

int boot_line_read(const char *path, char *line, size_t size)
{
	const struct loader *loader = loader_of(path);
	char file[FILE_SIZE], *found;
	int error = loader ? read_line(loader, path, file, &found) : EINVAL;

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
	int error = loader ? read_line(loader, path, file, &found) : EINVAL;
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
