// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine on which the agent measures while it is denied what it asks the
 * kernel for once it has begun. Behind "@ PROBE" come the lines of a run, errors among them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define CAP_SYS_NICE 23
#define DEV_ZERO     makedev(1, 5)

/* Without the right to change the priority of another's thread, as the interrupt's is. */
static int deny_priorities(void)
{
	return prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
}

/* With a device that opens and maps, but knows no request. */
static int deny_events(void)
{
	return mknod("/dev/rtevent", S_IFCHR | 0400, DEV_ZERO);
}

static void run(char *const *words, int (*deny)(void))
{
	pid_t child;

	printf("@ %s\n", words[1]);
	child = fork();
	if (!child) {
		if (deny())
			printf("@ failed: nothing is denied: %m\n");
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execv(words[0], words);
		printf("@ failed: %s cannot be run: %m\n", words[0]);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	char *daq[] = { "/agent", "daq", "--json", "--samples=5", "--policy=other", NULL };
	char *event[] = { "/agent", "event", "--json", "--samples=5", NULL };

	port_open();
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	chmod("/agent", 0755);
	if (module_load("rtdaq", ""))
		printf("@ failed: no module rtdaq\n");
	run(daq, deny_priorities);
	run(event, deny_events);
	port_end();
}
