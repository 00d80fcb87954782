/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of settings that outlive a boot. */
#ifndef RTSCOPE_TUNE_CONFIG_H
#define RTSCOPE_TUNE_CONFIG_H

/*
 * Replace the file's content, which is @before, by @text, all of it or nothing, and have it on
 * disk. @before is empty where there is no file. Owner, mode, extended attributes and symbolic
 * links to the file stay. Returns 0 or an errno: ESTALE where the file no longer holds @before,
 * EMLINK where it has other hard links, which would keep the old content.
 */
int config_replace(const char *path, const char *before, const char *text);

/* Have the folder that @path is in on disk. 0 or an errno. */
int config_sync_folder(const char *path);

#endif
