// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the control loop of examples/llrf with both of its devices beside the
 * agent's load, and lets the agent watch its measurement points.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define LOOP_S	 "4"
#define WATCH_US 1500000

static pid_t start(char *const words[], const char *output)
{
	pid_t pid = fork();

	if (!pid) {
		if (output && !freopen(output, "w", stdout))
			_exit(126);
		execv(words[0], words);
		printf("@ failed: %s cannot be run: %m\n", words[0]);
		_exit(127);
	}
	return pid;
}

static void end(pid_t pid, const char *name)
{
	int status;

	waitpid(pid, &status, 0);
	printf("@ %s ended: %d\n", name, status);
}

int main(void)
{
	char *load[] = { "/agent", "cyclic", "--priority=10", "--load=mixed", "-D", "60s", NULL };
	char *loop[] = { "/llrf", "-d", "-p", "80", "-t", LOOP_S, NULL };
	char pid_text[16];
	char *watch[] = { "/agent", "points", pid_text, "--json", NULL };
	pid_t load_pid, loop_pid;

	port_open();
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at("/tmp", "tmpfs");
	printf("@ rtevent: %d\n", module_load("rtevent", ""));
	printf("@ rtdaq: %d\n", module_load("rtdaq", ""));
	chmod("/agent", 0755);
	chmod("/llrf", 0755);
	load_pid = start(load, "/dev/null");
	sleep(2);
	loop_pid = start(loop, NULL);
	snprintf(pid_text, sizeof(pid_text), "%d", loop_pid);
	for (int i = 0; i < 2; i++) {
		usleep(WATCH_US);
		end(start(watch, NULL), "look");
	}
	end(loop_pid, "loop");
	kill(load_pid, SIGINT);
	end(load_pid, "load");
	port_end();
}
