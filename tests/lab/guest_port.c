// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a machine's only program needs where that is a test's own: it speaks to
 * the test by the port that rtscope_channel= names, raw, so that no line is
 * changed on its way, and ends the machine by a reboot, which the emulator
 * takes for the end on every board.
 */
#define _GNU_SOURCE
#include "guest_port.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

void mount_at(const char *path, const char *type)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL) && errno != EBUSY)
		printf("@ failed: cannot mount %s: %m\n", type);
}

void port_open(void)
{
	const char *path = getenv("rtscope_channel");
	struct termios settings;
	int fd;

	mount_at("/dev", "devtmpfs");
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	fd = open(path ? path : "/dev/console", O_RDWR | O_NOCTTY);
	if (fd < 0 || tcgetattr(fd, &settings))
		return;
	cfmakeraw(&settings);
	cfsetspeed(&settings, B115200);
	tcsetattr(fd, TCSANOW, &settings);
	dup2(fd, STDOUT_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

void agent_run(const char *what, char *const *words, void (*prepare)(void))
{
	pid_t child;

	printf("@ %s\n", what);
	chmod("/agent", 0755);
	child = fork();
	if (!child) {
		if (prepare)
			prepare();
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execv("/agent", words);
		printf("@ failed: the agent cannot be run: %m\n");
		_exit(1);
	}
	waitpid(child, NULL, 0);
	printf("\n");
}

void schedule_as(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (syscall(SYS_sched_setscheduler, 0, policy, &param))
		printf("@ failed: no such policy: %m\n");
}

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

const char *refused(bool holds)
{
	return holds ? "refused" : "taken";
}

bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t size = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return size == (ssize_t)strlen(text);
}

void kernel_tells_all(void)
{
	if (!put("/proc/sys/kernel/printk", "8"))
		printf("@ failed: the kernel takes no level for its console: %m\n");
}

void port_end(void)
{
	printf("@ end\n");
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
