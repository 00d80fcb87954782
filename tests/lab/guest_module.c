// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "guest_module.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest_port.h"

#define LEAKS	"/sys/kernel/debug/kmemleak"
#define YOUNG_S 6 /* kmemleak does not tell of what is younger */

int module_load(const char *name, const char *parameters)
{
	char path[64];
	int fd, result;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	result = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
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

void in_four_threads(void *(*body)(void *fd), int fd)
{
	pthread_t thread[4];

	for (size_t i = 0; i < COUNT(thread); i++)
		pthread_create(&thread[i], NULL, body, (void *)(long)fd);
	for (size_t i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
	close(fd);
}

static void tell_leaks(void)
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

static void try_parameters(const char *name, const char *const *bad)
{
	int count = 0, refused = 0;

	for (; bad[count]; count++)
		refused += module_load(name, bad[count]) == EINVAL;
	printf("@ parameters: %d of %d refused\n", refused, count);
}

void module_try(const char *name, const char *const *bad, const char *good,
		void (*try_loaded)(void))
{
	char device[64];

	port_open();
	mount_at("/sys/kernel/debug", "debugfs");
	kernel_tells_all();
	try_parameters(name, bad);
	printf("@ load: %d\n", module_load(name, good));
	try_loaded();
	printf("@ unload at rest: %d\n", module_unload(name));
	snprintf(device, sizeof(device), "/dev/%s", name);
	printf("@ device: %s\n", access(device, F_OK) ? "gone" : "there");
	printf("@ load again: %d\n", module_load(name, ""));
	printf("@ unload again: %d\n", module_unload(name));
	tell_leaks();
	port_end();
}
