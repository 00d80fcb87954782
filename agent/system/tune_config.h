/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of settings that outlive a boot. */
#ifndef RTSCOPE_SYSTEM_TUNE_CONFIG_H
#define RTSCOPE_SYSTEM_TUNE_CONFIG_H

/*
 * Put @text in the place of all that the file holds, or of no file: on disk, and all of it or
 * nothing. Its owner and mode stay. 0 or an errno.
 */
int config_replace(const char *path, const char *text);

#endif
