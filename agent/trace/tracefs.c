// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/tracefs.h"

/* As in linux/mount.h, which the C library's headers do not contain. */
#define FSOPEN_CLOEXEC	    1
#define FSCONFIG_CMD_CREATE 6
#define FSMOUNT_CLOEXEC	    1

static const char *const folders[] = { TRACEFS_FOLDER, "/sys/kernel/debug/tracing" };

int tracefs_open_mounted(const char **folder)
{
	int directory = -1, error = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		*folder = folders[i];
		directory = open(*folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory >= 0 && !faccessat(directory, "tracing_on", F_OK, 0))
			return directory;
		if (directory < 0 && errno != ENOENT)
			error = errno;
		if (directory >= 0)
			close(directory);
	}
	errno = error ? error : ENOENT;
	return -1;
}

/* fsmount() is of Linux 5.2. Its descriptor only names the root: reading it needs another one. */
static int open_private_mount(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int mount = -1, root = -1;

	if (context >= 0 && !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (mount >= 0)
		root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount >= 0)
		close(mount);
	if (context >= 0)
		close(context);
	return root;
}

int tracefs_open(void)
{
	const char *folder;
	int root = tracefs_open_mounted(&folder);

	if (root >= 0 || errno == EACCES || errno == EPERM)
		return root;
	return open_private_mount();
}
