// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every thread of the system, read from /proc.
 *
 * Four small files a thread, a fifth for real-time threads of programs, each in
 * one read, and one system call for SCHED_DEADLINE threads. This is no snapshot:
 * threads run, begin and end meanwhile. A file that is gone means that its thread
 * has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/status.h"
#include "proc/threads_read.h"

/* What is stored of a thread until the next reading. */
struct thread_seen {
	int tid;
	uint64_t start_ticks;
	struct thread_times times;
};

static void read_list(const char *path, struct reserved_list *list)
{
	file_text(AT_FDCWD, path, list->text, sizeof(list->text));
	list->text[strcspn(list->text, "\n")] = '\0';
	if (cpulist_parse(list->text, &list->cpus))
		return;
	*list->text = '\0'; /* "(null)" where the kernel has none */
	CPU_ZERO(&list->cpus);
}

static void read_reserved(struct reserved_cpus *reserved)
{
	read_list("/sys/devices/system/cpu/isolated", &reserved->isolated);
	read_list("/sys/devices/system/cpu/nohz_full", &reserved->nohz_full);
	read_list("/sys/fs/cgroup/cpuset.cpus.isolated", &reserved->partition);
}

static bool are_reserved(const struct reserved_cpus *reserved, const cpu_set_t *cpus)
{
	return CPU_COUNT(cpus) && (cpulist_have(&reserved->isolated.cpus, cpus) ||
				   cpulist_have(&reserved->nohz_full.cpus, cpus) ||
				   cpulist_have(&reserved->partition.cpus, cpus));
}

static bool read_status(int directory, struct thread *thread)
{
	const char *status = status_read(directory), *cpus;

	if (!status)
		return false;
	cpus = status_value(status, "Cpus_allowed_list");
	if (cpus)
		thread->cpus = strndup(cpus, strcspn(cpus, "\n"));
	thread->switches_known =
		status_number(status, "voluntary_ctxt_switches", &thread->times.voluntary) &&
		status_number(status, "nonvoluntary_ctxt_switches", &thread->times.forced);
	return true;
}

/* Returns whether it is exact. */
static bool read_cpu_time(int directory, struct thread *thread)
{
	char text[128];

	if (file_text(directory, "schedstat", text, sizeof(text))) {
		thread->times.cpu_ns = strtoull(text, NULL, 10);
		if (thread->times.cpu_ns || !thread->ticks)
			return true;
	}
	thread->times.cpu_ns = thread->ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return false;
}

/* "0" means that the thread runs, or that its place is unknown or hidden from this user. */
static void read_wait_channel(int directory, struct thread *thread)
{
	file_text(directory, "wchan", thread->wait_channel, sizeof(thread->wait_channel));
	if (!strcmp(thread->wait_channel, "0"))
		*thread->wait_channel = '\0';
}

/*
 * The module of the innermost function in which a real-time thread of a program sleeps; only root
 * may read it. The thread likely waits for that module, whatever the function is called.
 */
static void read_wait_module(int directory, struct thread *thread)
{
	char text[4096];
	const char *module;

	if (thread->kernel || thread->rank >= 0 || !*thread->wait_channel ||
	    !file_text(directory, "stack", text, sizeof(text)))
		return;
	module = strstr(text, " [");
	if (module)
		snprintf(thread->wait_module, sizeof(thread->wait_module), "%.*s",
			 (int)strcspn(module + 2, " ]\n"), module + 2);
}

static void read_isolated(const struct reserved_cpus *reserved, struct thread *thread)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (thread->cpu >= 0 && thread->cpu < CPUS_MAX)
		CPU_SET((unsigned int)thread->cpu, &cpus);
	thread->isolated = are_reserved(reserved, &cpus) ||
			   (thread->cpus && cpulist_parse(thread->cpus, &cpus) &&
			    are_reserved(reserved, &cpus));
}

/*
 * Read the thread whose folder is @directory; false where it has ended. The status comes last:
 * while that is there, what could not be read before it was not there for another reason.
 */
static bool read_thread(int directory, struct thread_list *list, struct thread *thread)
{
	bool exact;

	if (!thread_read_stat(directory, thread))
		return false;
	exact = read_cpu_time(directory, thread);
	read_wait_channel(directory, thread);
	read_wait_module(directory, thread);
	if (!read_status(directory, thread))
		return false;
	list->coarse |= !exact;
	if (thread->rank == RANK_DEADLINE && !thread->inherited)
		realtime_deadline(thread->tid, &thread->given);
	read_isolated(&list->reserved, thread);
	list->kernel_seen |= thread->kernel;
	if (strchr("SDI", thread->state)) {
		list->waiting++;
		list->without_wait_channel += !*thread->wait_channel;
	}
	return true;
}

static struct thread *room_for_one(struct thread_list *list)
{
	size_t room = list->room ? 2 * list->room : 512;
	struct thread *grown;

	if (list->count < list->room)
		return &list->thread[list->count];
	grown = realloc(list->thread, room * sizeof(*grown));
	list->memory_short |= !grown;
	if (!grown)
		return NULL;
	list->thread = grown;
	list->room = room;
	return &list->thread[list->count];
}

static void read_task(int tasks, int tid, int pid, struct thread_list *list)
{
	struct thread *thread = room_for_one(list);
	char name[16];
	int directory;

	if (!thread)
		return;
	snprintf(name, sizeof(name), "%d", tid);
	directory = openat(tasks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	*thread = (struct thread){ .pid = pid };
	if (read_thread(directory, list, thread))
		list->count++;
	else
		free(thread->cpus);
	close(directory);
}

static void read_process(int pid, struct thread_list *list)
{
	char path[32];
	DIR *tasks;
	int fd, tid;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		list->denied += errno == EACCES || errno == EPERM;
		return;
	}
	tasks = fdopendir(fd);
	if (!tasks) {
		close(fd);
		return;
	}
	while ((tid = directory_next_number(tasks)) >= 0)
		read_task(fd, tid, pid, list);
	closedir(tasks);
}

static int seen_order(const void *one, const void *other)
{
	const struct thread_seen *a = one, *b = other;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static uint64_t more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* A number may be another thread's by now, which then began later. */
static void set_since(const struct thread_list *list, struct thread *thread)
{
	struct thread_seen key = { .tid = thread->tid }, *before = NULL;

	if (list->seen_count)
		before = bsearch(&key, list->seen, list->seen_count, sizeof(key), seen_order);
	thread->since = thread->times;
	if (!before || before->start_ticks != thread->start_ticks)
		return;
	thread->since.cpu_ns = more(thread->times.cpu_ns, before->times.cpu_ns);
	thread->since.voluntary = more(thread->times.voluntary, before->times.voluntary);
	thread->since.forced = more(thread->times.forced, before->times.forced);
}

static void keep_seen(struct thread_list *list)
{
	free(list->seen);
	list->seen_count = 0;
	list->seen = calloc(list->count ? list->count : 1, sizeof(*list->seen));
	list->memory_short |= !list->seen;
	if (!list->seen)
		return;
	for (size_t i = 0; i < list->count; i++)
		list->seen[i] =
			(struct thread_seen){ list->thread[i].tid, list->thread[i].start_ticks,
					      list->thread[i].times };
	list->seen_count = list->count;
	qsort(list->seen, list->seen_count, sizeof(*list->seen), seen_order);
}

static void forget_threads(struct thread_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->thread[i].cpus);
	list->count = 0;
	list->denied = list->waiting = list->without_wait_channel = 0;
}

int threads_read(struct thread_list *list)
{
	DIR *proc = opendir("/proc");
	int pid;

	if (!proc)
		return -1;
	forget_threads(list);
	read_reserved(&list->reserved);
	while ((pid = directory_next_number(proc)) >= 0)
		read_process(pid, list);
	closedir(proc);
	for (size_t i = 0; i < list->count; i++)
		set_since(list, &list->thread[i]);
	keep_seen(list);
	if (list->count)
		qsort(list->thread, list->count, sizeof(*list->thread), thread_order);
	return 0;
}
