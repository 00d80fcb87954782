/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of settings that outlive a boot. */
#ifndef RTSCOPE_SYSTEM_TUNE_CONFIG_H
#define RTSCOPE_SYSTEM_TUNE_CONFIG_H

/*
 * Put @text in the place of all that the file holds, or of no file: on disk, and all of it or
 * nothing. Its owner and mode stay, and a link to it. 0 or an errno.
 */
int config_replace(const char *path, const char *text);

/* Have the folder that @path is in on disk. */
void config_sync_folder(const char *path);

#endif
