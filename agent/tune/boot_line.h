/* SPDX-License-Identifier: GPL-2.0-only */
/* Boot loaders' files that have the kernel's parameters in one of their lines. */
#ifndef RTSCOPE_TUNE_BOOT_LINE_H
#define RTSCOPE_TUNE_BOOT_LINE_H

#include <stddef.h>

/* Read for the message that the boot loader is unknown. */
#define BOOT_LINE_LOADERS \
	"a Raspberry Pi's cmdline.txt, Armbian's armbianEnv.txt, an extlinux.conf with one entry"

/* The file that the running kernel was booted by for certain; NULL where none is. */
const char *boot_line_file(void);

/*
 * The line of @path, one of boot_line_file()'s, without the blanks before it; "" where it has none
 * yet. 0 or an errno.
 */
int boot_line_read(const char *path, char *line, size_t size);

/* Put @line in the place of @old_line, "" for none. 0 or an errno, ESTALE as in tune_config.h. */
int boot_line_replace(const char *path, const char *old_line, const char *line);

/* What the line is with parameters @added, which it may have already. 0 or an errno. */
int boot_line_add(const char *path, const char *line, const char *added, char *wanted, size_t size);

#endif
