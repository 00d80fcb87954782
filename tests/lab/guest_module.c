// SPDX-License-Identifier: GPL-2.0-only
/* /proc, /sys and /sys/kernel/debug have to be mounted. */
#define _GNU_SOURCE
#include "guest_module.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest_port.h"

#define LEAKS	"/sys/kernel/debug/kmemleak"
#define YOUNG_S 6 /* kmemleak does not tell of what is younger */

int module_load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;

	close(fd);
	return result;
}

int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

static int tasks_now(const char *part)
{
	struct dirent *entry;
	char path[280], name[32];
	DIR *proc = opendir("/proc");
	int count = 0;

	while ((entry = readdir(proc))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file) && strstr(name, part))
			count++;
		if (file)
			fclose(file);
	}
	closedir(proc);
	return count;
}

int tasks_named(const char *part, int expected)
{
	for (int i = 0; i < LOOKS && tasks_now(part) != expected; i++)
		usleep(LOOK_US);
	return tasks_now(part);
}

void tell_leaks(void)
{
	char text[4096];
	ssize_t size;
	int fd;

	if (access(LEAKS, F_OK)) {
		printf("@ leaks: not looked for\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		sleep(YOUNG_S);
		if (!put(LEAKS, "scan"))
			printf("@ failed: %s takes no scan: %m\n", LEAKS);
	}
	fd = open(LEAKS, O_RDONLY | O_CLOEXEC);
	size = read(fd, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	printf("@ leaks: %s\n", *text ? text : "none");
	close(fd);
}
