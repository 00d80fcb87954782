// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "proc/processes.h"
#include "proc/status.h"

#define DEPTH_MAX 64

bool processes_any(bool (*visit)(const struct thread *thread, void *data), void *data)
{
	DIR *directory = opendir("/proc");
	struct thread thread;
	bool found = false;
	int pid;

	while (!found && (pid = directory_next_number(directory)) >= 0)
		found = thread_read(pid, &thread) && visit(&thread, data);
	if (directory)
		closedir(directory);
	return found;
}

static bool has_name(const struct thread *thread, void *name)
{
	return !strcmp(thread->name, name);
}

bool process_is_running(const char *name)
{
	char cut[16]; /* as the kernel cuts it */

	snprintf(cut, sizeof(cut), "%s", name);
	return processes_any(has_name, cut);
}

/*
 * Read the numbers that a process has in the PID namespaces from that of /proc, which may be one
 * above where no other could be mounted, down to its own. Returns how many there are.
 */
static unsigned int read_numbers(int pid, uint64_t numbers[STATUS_NAMESPACES_MAX])
{
	const char *status = status_read_pid(pid);
	unsigned int count = 0;

	if (status)
		count = status_numbers(status, "NSpid", numbers, STATUS_NAMESPACES_MAX);
	if (count)
		return count;
	numbers[0] = (uint64_t)pid; /* the kernel has no PID namespaces */
	return 1;
}

/* As /proc counts; 0 if /proc is of a namespace that this process is not in. */
static int own_number(void)
{
	char number[16] = "";

	return readlink("/proc/self", number, sizeof(number) - 1) > 0 ? atoi(number) : 0;
}

struct own_children {
	uint64_t own[STATUS_NAMESPACES_MAX];
	unsigned int level;
	void (*use)(pid_t pid);
};

static bool use_child(const struct thread *thread, void *data)
{
	const struct own_children *children = data;
	uint64_t child[STATUS_NAMESPACES_MAX];

	if ((uint64_t)thread->parent == children->own[0] &&
	    read_numbers(thread->tid, child) >= children->level)
		children->use((pid_t)child[children->level - 1]);
	return false;
}

void processes_each_child(void (*use)(pid_t pid))
{
	struct own_children children = { .use = use };

	children.level = read_numbers(own_number(), children.own);
	if (children.own[children.level - 1] == (uint64_t)getpid())
		processes_any(use_child, &children);
}

struct cpu_time {
	int root;
	uint64_t ticks;
};

static bool descends(const struct thread *thread, int root)
{
	struct thread ancestor = *thread;

	for (int depth = 0; depth < DEPTH_MAX && ancestor.parent > 0; depth++) {
		if (ancestor.parent == root)
			return true;
		if (!thread_read(ancestor.parent, &ancestor))
			return false;
	}
	return false;
}

static bool add_cpu_time(const struct thread *thread, void *data)
{
	struct cpu_time *time = data;

	if (thread->tid == time->root || descends(thread, time->root))
		time->ticks += thread->ticks + thread->child_ticks;
	return false;
}

uint64_t processes_cpu_ns(void)
{
	struct cpu_time time = { .root = own_number() };

	processes_any(add_cpu_time, &time);
	return time.ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}
