// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine that takes CPU 0 offline and has the agent measure on the rest.
 * Behind "@ VERB" come the agent's lines.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_port.h"

static void agent(char *const *words)
{
	pid_t child;
	int status;

	printf("@ %s\n", words[1]);
	child = fork();
	if (!child) {
		execv("/agent", words);
		_exit(127);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		printf("@ failed: %s ended with %#x\n", words[1], status);
}

int main(void)
{
	char *const words[][10] = {
		{ "agent", "machine", "--json" },
		{ "agent", "topology", "--json", "--progress=0", "--slot=1ms", "-l1" },
		{ "agent", "memory", "--json", "--progress=0", "--slot=1ms", "-l1", "--largest=8" },
		{ "agent", "scaling", "--json", "--progress=0", "-D200ms", "-i20ms" },
		{ "agent", "cyclic", "--json", "--progress=0", "-D200ms", "--load=memory+cache" },
	};

	port_open();
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at("/tmp", "tmpfs");
	chmod("/agent", 0755);
	if (!put("/sys/devices/system/cpu/cpu0/online", "0"))
		printf("@ failed: CPU 0 does not go offline: %m\n");
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		agent(words[i]);
	port_end();
}
