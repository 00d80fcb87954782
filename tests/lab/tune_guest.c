// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine whose CPUs 2 and 3 the agent isolates, and gives back. Behind
 * "@ STEP" come the agent's lines or what the kernel then tells.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_port.h"

#define CGROUPS	  "/sys/fs/cgroup"
#define PARTITION CGROUPS "/rtscope.isolated-p"

static void tell_file(const char *what, const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	printf("@ %s: ", what);
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, key, strlen(key)))
			printf("%s", line + strlen(key));
	}
	printf("\n");
	if (file)
		fclose(file);
}

static void agent(const char *step, char *const *words)
{
	pid_t child;
	int status;

	printf("@ %s\n", step);
	child = fork();
	if (!child) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execv("/agent", words);
		printf("@ failed: the agent cannot be run: %m\n");
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("\n@ %s status: %d\n", step, WEXITSTATUS(status));
}

static pid_t begin_program(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

static void tell_state(const char *when, pid_t program)
{
	char what[64], path[64];

	snprintf(what, sizeof(what), "%s isolated", when);
	tell_file(what, CGROUPS "/cpuset.cpus.isolated", "");
	snprintf(what, sizeof(what), "%s controllers", when);
	tell_file(what, CGROUPS "/cgroup.subtree_control", "");
	snprintf(what, sizeof(what), "%s program", when);
	snprintf(path, sizeof(path), "/proc/%d/status", program);
	tell_file(what, path, "Cpus_allowed_list:\t");
	printf("@ %s cgroup: %s\n", when, access(PARTITION, F_OK) ? "none" : "there");
}

int main(void)
{
	char *apply[] = { "agent",
			  "tune",
			  "--json",
			  "--profile=p",
			  "apply",
			  "partition cpus=2-3",
			  "interrupts away=2-3",
			  NULL };
	char *undo[] = { "agent", "tune", "--json", "undo", NULL };
	char *cyclic[] = { "agent",
			   "cyclic",
			   "--json",
			   "--cpus=2-3",
			   "--samples=500",
			   "--progress=0",
			   "--cpu-counts",
			   "--tune=partition cpus=2-3",
			   "--tune=interrupts away=2-3",
			   "--tune=tasks away=2-3",
			   NULL };
	pid_t program;
	char number[16];

	port_open();
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at(CGROUPS, "cgroup2");
	chmod("/agent", 0755);
	program = begin_program();
	snprintf(number, sizeof(number), "%d", program);
	tell_state("before", program);
	agent("apply", apply);
	tell_state("applied", program);
	put(PARTITION "/cgroup.procs", number);
	tell_state("joined", program);
	agent("undo", undo);
	tell_state("undone", program);

	/* As killed after the cgroup was made, and before it was a partition. */
	agent("apply again", apply);
	put(PARTITION "/cpuset.cpus.partition", "member");
	put(PARTITION "/cpuset.cpus", "\n");
	tell_state("torn", program);
	agent("undo again", undo);
	tell_state("mended", program);

	agent("cyclic", cyclic);
	tell_state("measured", program);
	kill(program, SIGKILL);
	port_end();
}
