// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every thread of the machine, read from /proc.
 *
 * Four small files a thread, a fifth for programs' real-time ones, each in one
 * read, and one system call for those of SCHED_DEADLINE. All is told of no one moment: threads run, begin and end while
 * they are looked at. A file that has gone is a thread that has ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "proc/threads_read.h"

#define STATUS_SIZE (128 << 10) /* its longest lines: groups, and CPU lists of huge machines */

/* What is kept of a thread until the next look. */
struct thread_seen {
	int tid;
	uint64_t start_ticks;
	struct thread_times times;
};

static char status_text[STATUS_SIZE];

static void read_list(const char *path, char *list)
{
	if (!file_text(AT_FDCWD, path, list, CPU_LIST_SIZE) || *list < '0' || *list > '9')
		*list = '\0';
	list[strcspn(list, "\n")] = '\0';
}

static void read_kept(struct kept_cpus *kept)
{
	read_list("/sys/devices/system/cpu/isolated", kept->isolated);
	read_list("/sys/devices/system/cpu/nohz_full", kept->nohz_full);
	read_list("/sys/fs/cgroup/cpuset.cpus.isolated", kept->partition);
}

static bool is_kept(const struct kept_cpus *kept, const char *cpus)
{
	return cpu_list_has(kept->isolated, cpus) || cpu_list_has(kept->nohz_full, cpus) ||
	       cpu_list_has(kept->partition, cpus);
}

/* Of "\n@key:\tvalue\n" in /proc/PID/status the value; NULL where it is not there. */
static const char *status_value(const char *key)
{
	const char *line = strstr(status_text, key);

	return line ? line + strlen(key) : NULL;
}

static bool status_number(const char *key, uint64_t *number)
{
	const char *value = status_value(key);

	if (value)
		*number = strtoull(value, NULL, 10);
	return value;
}

/* The name, the only line that is not the kernel's own words, has its line ends escaped there. */
static bool read_status(int directory, struct thread *thread)
{
	const char *cpus;

	if (!file_text(directory, "status", status_text, sizeof(status_text)))
		return false;
	cpus = status_value("\nCpus_allowed_list:\t");
	if (cpus)
		thread->cpus = strndup(cpus, strcspn(cpus, "\n"));
	thread->switches_known =
		status_number("\nvoluntary_ctxt_switches:\t", &thread->times.voluntary) &&
		status_number("\nnonvoluntary_ctxt_switches:\t", &thread->times.forced);
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

/* The kernel says "0" where a thread runs, where it does not know, and where it does not tell. */
static void read_wait_channel(int directory, struct thread *thread)
{
	file_text(directory, "wchan", thread->wait_channel, sizeof(thread->wait_channel));
	if (!strcmp(thread->wait_channel, "0"))
		*thread->wait_channel = '\0';
}

/*
 * The module of the innermost function in which a program's real-time thread sleeps, as root is
 * told: what it waits for is likely that module's, whatever the function is called.
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

static void read_isolated(const struct kept_cpus *kept, struct thread *thread)
{
	char cpu[16];

	snprintf(cpu, sizeof(cpu), "%d", thread->cpu);
	thread->isolated = is_kept(kept, cpu) || (thread->cpus && is_kept(kept, thread->cpus));
}

/*
 * Read the thread whose folder is @directory; false where it has ended. The status comes last:
 * while that is there, what could not be read before it was not there for another reason.
 */
static bool read_thread(int directory, struct thread_looks *looks, struct thread *thread)
{
	char text[1024];
	bool exact;

	if (!file_text(directory, "stat", text, sizeof(text)) || !thread_parse_stat(text, thread))
		return false;
	exact = read_cpu_time(directory, thread);
	read_wait_channel(directory, thread);
	read_wait_module(directory, thread);
	if (!read_status(directory, thread))
		return false;
	looks->coarse |= !exact;
	if (thread->rank == RANK_DEADLINE && !thread->inherited)
		realtime_deadline(thread->tid, &thread->given);
	read_isolated(&looks->kept, thread);
	looks->kernel_seen |= thread->kernel;
	if (strchr("SDI", thread->state)) {
		looks->waiting++;
		looks->without_wait_channel += !*thread->wait_channel;
	}
	return true;
}

static struct thread *room_for_one(struct thread_looks *looks)
{
	size_t room = looks->room ? 2 * looks->room : 512;
	struct thread *grown;

	if (looks->count < looks->room)
		return &looks->thread[looks->count];
	grown = realloc(looks->thread, room * sizeof(*grown));
	looks->memory_short |= !grown;
	if (!grown)
		return NULL;
	looks->thread = grown;
	looks->room = room;
	return &looks->thread[looks->count];
}

static void read_task(int tasks, const char *name, int pid, struct thread_looks *looks)
{
	struct thread *thread = room_for_one(looks);
	int directory;

	if (!thread)
		return;
	directory = openat(tasks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	*thread = (struct thread){ .pid = pid };
	if (read_thread(directory, looks, thread))
		looks->count++;
	else
		free(thread->cpus);
	close(directory);
}

static bool is_number(const char *name)
{
	return *name >= '0' && *name <= '9';
}

static void read_process(int proc, const char *name, struct thread_looks *looks)
{
	struct dirent *entry;
	char path[300];
	DIR *tasks;
	int fd;

	snprintf(path, sizeof(path), "%s/task", name);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		looks->denied += errno == EACCES || errno == EPERM;
		return;
	}
	tasks = fdopendir(fd);
	if (!tasks) {
		close(fd);
		return;
	}
	while ((entry = readdir(tasks))) {
		if (is_number(entry->d_name))
			read_task(fd, entry->d_name, atoi(name), looks);
	}
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
static void set_since(const struct thread_looks *looks, struct thread *thread)
{
	struct thread_seen key = { .tid = thread->tid }, *before = NULL;

	if (looks->seen_count)
		before = bsearch(&key, looks->seen, looks->seen_count, sizeof(key), seen_order);
	thread->since = thread->times;
	if (!before || before->start_ticks != thread->start_ticks)
		return;
	thread->since.cpu_ns = more(thread->times.cpu_ns, before->times.cpu_ns);
	thread->since.voluntary = more(thread->times.voluntary, before->times.voluntary);
	thread->since.forced = more(thread->times.forced, before->times.forced);
}

static void keep_seen(struct thread_looks *looks)
{
	free(looks->seen);
	looks->seen_count = 0;
	looks->seen = calloc(looks->count ? looks->count : 1, sizeof(*looks->seen));
	looks->memory_short |= !looks->seen;
	if (!looks->seen)
		return;
	for (size_t i = 0; i < looks->count; i++)
		looks->seen[i] =
			(struct thread_seen){ looks->thread[i].tid, looks->thread[i].start_ticks,
					      looks->thread[i].times };
	looks->seen_count = looks->count;
	qsort(looks->seen, looks->seen_count, sizeof(*looks->seen), seen_order);
}

static void forget_threads(struct thread_looks *looks)
{
	for (size_t i = 0; i < looks->count; i++)
		free(looks->thread[i].cpus);
	looks->count = 0;
	looks->denied = looks->waiting = looks->without_wait_channel = 0;
}

int threads_read(struct thread_looks *looks)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return -1;
	forget_threads(looks);
	read_kept(&looks->kept);
	while ((entry = readdir(proc))) {
		if (is_number(entry->d_name))
			read_process(dirfd(proc), entry->d_name, looks);
	}
	closedir(proc);
	for (size_t i = 0; i < looks->count; i++)
		set_since(looks, &looks->thread[i]);
	keep_seen(looks);
	if (looks->count)
		qsort(looks->thread, looks->count, sizeof(*looks->thread), thread_order);
	return 0;
}
