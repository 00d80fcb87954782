// SPDX-License-Identifier: GPL-2.0-only
/* Processes as /proc shows them: whose child each is, and what CPU time a whole tree has had. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "proc/processes.h"

/* Numbers of a stat file after the name and the state, from 0. */
#define PARENT	  0
#define FIRST_CPU 10 /* its own in user mode and in the kernel, its reaped children's in both */
#define CPU_TIMES 4
#define DEPTH_MAX 64

#define NAMESPACES     "\nNSpid:"
#define NAMESPACES_MAX 33 /* MAX_PID_NS_LEVEL of the kernel, and the first */
#define STATUS_SIZE    4096

struct process {
	pid_t parent;
	uint64_t ticks;
};

static bool read_process(pid_t pid, struct process *process)
{
	char path[32], text[512], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file_text(AT_FDCWD, path, text, sizeof(text));
	at = strrchr(text, ')');
	if (!at || strlen(at) < sizeof(") S "))
		return false;
	at += sizeof(") S ") - 1;
	*process = (struct process){ 0 };
	for (int field = 0; field < FIRST_CPU + CPU_TIMES; field++) {
		long number = strtol(at, &at, 10);

		if (field == PARENT)
			process->parent = (pid_t)number;
		if (field >= FIRST_CPU)
			process->ticks += (uint64_t)number;
	}
	return true;
}

static bool descends(struct process process, pid_t root)
{
	for (int depth = 0; depth < DEPTH_MAX && process.parent > 0; depth++) {
		if (process.parent == root)
			return true;
		if (!read_process(process.parent, &process))
			return false;
	}
	return false;
}

/* The next process of /proc; 0 after the last. */
static pid_t next_process(DIR *directory)
{
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL) {
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			return (pid_t)atoi(entry->d_name);
	}
	return 0;
}

/*
 * Read the numbers that a process has in the PID namespaces from that of /proc, which may be one
 * above where no other could be mounted, down to its own. Returns how many there are.
 */
static unsigned int read_numbers(pid_t pid, pid_t numbers[NAMESPACES_MAX])
{
	char path[32], text[STATUS_SIZE], *at;
	unsigned int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file_text(AT_FDCWD, path, text, sizeof(text));
	at = strstr(text, NAMESPACES);
	if (!at) { /* the kernel has no PID namespaces */
		numbers[0] = pid;
		return 1;
	}
	at += strlen(NAMESPACES);
	while (*at == '\t' && count < NAMESPACES_MAX)
		numbers[count++] = (pid_t)strtol(at + 1, &at, 10);
	return count;
}

/* As /proc counts; 0 where that is of a namespace that this process is not in. */
static pid_t own_number(void)
{
	char number[16] = "";

	return readlink("/proc/self", number, sizeof(number) - 1) > 0 ? (pid_t)atoi(number) : 0;
}

void processes_each_child(void (*use)(pid_t pid))
{
	pid_t own[NAMESPACES_MAX], child[NAMESPACES_MAX], pid;
	unsigned int level = read_numbers(own_number(), own);
	DIR *directory = opendir("/proc");
	struct process process;

	while ((pid = next_process(directory)) != 0 && level && own[level - 1] == getpid()) {
		if (read_process(pid, &process) && process.parent == own[0] &&
		    read_numbers(pid, child) >= level)
			use(child[level - 1]);
	}
	if (directory)
		closedir(directory);
}

uint64_t processes_cpu_ns(void)
{
	DIR *directory = opendir("/proc");
	pid_t root = own_number(), pid;
	struct process process;
	uint64_t ticks = 0;

	while ((pid = next_process(directory)) != 0) {
		if (read_process(pid, &process) && (pid == root || descends(process, root)))
			ticks += process.ticks;
	}
	if (directory)
		closedir(directory);
	return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}
