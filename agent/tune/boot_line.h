/* SPDX-License-Identifier: GPL-2.0-only */
/* Boot loaders' files that have the kernel's parameters in one of their lines. */
#ifndef RTSCOPE_TUNE_BOOT_LINE_H
#define RTSCOPE_TUNE_BOOT_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Read for the message that the boot loader is unknown. */
#define BOOT_LINE_LOADERS \
	"entries of systemd-boot and BLS, a Raspberry Pi's cmdline.txt, Armbian's armbianEnv.txt, an extlinux.conf with one entry"

/* The file that the running kernel was booted by for certain; NULL where none is. */
const char *boot_line_file(void);

/* The file whose line kernels that are installed later get, besides that of @path; NULL: none. */
const char *boot_line_for_later(const char *path);

/* Whether an "append" line of @path has the root file system of the running kernel. */
bool boot_line_has_root(const char *path);

/*
 * The line of @path, one of boot_line_file()'s, without the blanks before it; "" where it has none
 * yet. 0 or an errno.
 */
int boot_line_read(const char *path, char *line, size_t size);

/* Put @line in the place of @old_line, "" for none. 0 or an errno, ESTALE as in config.h. */
int boot_line_replace(const char *path, const char *old_line, const char *line);

/* What the line is with parameters @added, which it may have already. 0 or an errno. */
int boot_line_add(const char *path, const char *line, const char *added, char *wanted, size_t size);

#endif
