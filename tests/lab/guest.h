/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the only program of a machine begins and ends with when it tries a module.
 * It writes "@ what: result" to the port that rtscope_channel= names.
 */
#ifndef RTSCOPE_GUEST_H
#define RTSCOPE_GUEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#define LEAKS "/sys/kernel/debug/kmemleak"

static inline void guest_begin(void)
{
	const char *path = getenv("rtscope_channel");
	struct termios settings;
	int fd;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	fd = open(path ? path : "/dev/console", O_RDWR | O_NOCTTY);
	if (!tcgetattr(fd, &settings)) {
		cfmakeraw(&settings);
		cfsetspeed(&settings, B115200);
		tcsetattr(fd, TCSANOW, &settings);
	}
	dup2(fd, STDOUT_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static inline void guest_end(void)
{
	printf("@ end\n");
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

/* 0 or an error number. */
static inline int load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;

	close(fd);
	return result;
}

static inline int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

#define LOOKS	200 /* on a busy host it takes a while */
#define LOOK_US 50000

static inline int tasks_now(const char *part)
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

/* How many tasks' names have @part in them; one that has ended is seen for a moment longer. */
static inline int tasks(const char *part, int expected)
{
	for (int i = 0; i < LOOKS && tasks_now(part) != expected; i++)
		usleep(LOOK_US);
	return tasks_now(part);
}

static inline void look_for_leaks(void)
{
	int fd = open(LEAKS, O_RDWR | O_CLOEXEC);
	char text[4096];
	ssize_t size;

	if (fd < 0) {
		printf("@ leaks: not looked for\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		sleep(6); /* what is younger than five seconds is not told */
		if (write(fd, "scan", 4) != 4)
			printf("@ leaks: no scan\n");
	}
	size = read(fd, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	printf("@ leaks: %s\n", *text ? text : "none");
	close(fd);
}

#endif
