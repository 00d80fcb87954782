// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "proc/cpus.h"
#include "proc/file.h"
#include "trace/events.h"
#include "trace/instance.h"
#include "trace/tracefs.h"

#define NAME_PREFIX	 "rtscope-"
#define RING_MOST_KB	 2048U
#define RING_LEAST_KB	 64U
#define RING_SMALLEST_KB 16U /* where there is no memory for more */
#define MEMORY_PART	 32  /* of the available memory, for the rings of all CPUs */
#define REMOVE_POLLS	 100
#define FDS_MAX		 4096
#define NO_MAXIMUM	 "1000000000" /* us; a shorter one would make the tracer swap the rings */

/* Only system calls: this also runs in a child of a process with several threads. */
static bool remove_instance(int tracefs, const char *name)
{
	const struct timespec pause = ns_to_timespec(10 * NSEC_PER_MSEC);
	char path[96];

	strcpy(path, "instances/");
	strcat(path, name);
	for (unsigned int i = 0; i < REMOVE_POLLS; i++) {
		int folder = openat(tracefs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (folder < 0)
			return errno == ENOENT;
		file_put(folder, "tracing_on", "0");
		file_put(folder, "current_tracer", "nop");
		file_put(folder, "events/enable", "0");
		close(folder);
		if (!unlinkat(tracefs, path, AT_REMOVEDIR))
			return true;
		nanosleep(&pause, NULL); /* a process that reads the instance keeps it */
	}
	return false;
}

/*
 * Remove instances of agents that were killed together with their supervisors. The lock decides: a
 * process number may be of another namespace.
 */
static void remove_stale(int tracefs)
{
	int fd = openat(tracefs, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *instances = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (instances && (entry = readdir(instances))) {
		int folder;

		if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 ||
		    strlen(entry->d_name) >= TRACE_NAME_SIZE)
			continue;
		folder = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0 && !flock(folder, LOCK_EX | LOCK_NB))
			remove_instance(tracefs, entry->d_name);
		if (folder >= 0)
			close(folder);
	}
	if (instances)
		closedir(instances);
}

static _Noreturn void supervise(const struct trace_instance *instance, int lifeline)
{
	char byte;

	setsid();
	prctl(PR_SET_NAME, "rtscope-trace");
	for (int number = 1; number < NSIG; number++)
		signal(number, number == SIGCHLD ? SIG_DFL : SIG_IGN);
	for (int fd = 0; fd < FDS_MAX; fd++) {
		if (fd != lifeline && fd != instance->tracefs)
			close(fd);
	}
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(remove_instance(instance->tracefs, instance->name) ? 0 : 1);
}

static int start_supervisor(struct trace_instance *instance)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	instance->supervisor = fork();
	if (instance->supervisor == 0) {
		close(ends[1]);
		supervise(instance, ends[0]);
	}
	close(ends[0]);
	instance->lifeline = ends[1];
	if (instance->supervisor > 0)
		return 0;
	close(ends[1]);
	return -1;
}

static unsigned long long available_kb(void)
{
	char text[4096];
	const char *line = NULL;

	if (file_text(AT_FDCWD, "/proc/meminfo", text, sizeof(text)))
		line = strstr(text, "MemAvailable:");
	return line ? strtoull(line + strlen("MemAvailable:"), NULL, 10) : 0;
}

static unsigned int ring_kb(void)
{
	unsigned long long each = available_kb() / MEMORY_PART;
	cpu_set_t online;

	cpus_online(&online);
	each /= (unsigned long long)CPU_COUNT(&online);
	if (each > RING_MOST_KB)
		return RING_MOST_KB;
	return each < RING_LEAST_KB ? RING_LEAST_KB : (unsigned int)each;
}

/* The format of a page: "field: local_t commit; offset:8; size:8; ..." and so for "char data". */
static bool read_page_format(struct trace_instance *instance)
{
	unsigned long offset, size;
	char text[1024];
	const char *field;

	if (!file_text(instance->tracefs, "events/header_page", text, sizeof(text)))
		return false;
	field = strstr(text, "commit;");
	if (!field || sscanf(field, "commit; offset:%lu; size:%lu;", &offset, &size) != 2)
		return false;
	instance->commit_size = size;
	field = strstr(text, "data;");
	if (!field || sscanf(field, "data; offset:%lu; size:%lu;", &offset, &size) != 2)
		return false;
	instance->page_size = offset + size;
	return (instance->commit_size == 4 || instance->commit_size == 8) &&
	       instance->page_size >= 1024 && instance->page_size <= (1U << 20);
}

/* A ring of the size that was computed, or of the largest part of it for which there is memory. */
static bool set_ring(struct trace_instance *instance)
{
	char text[32];

	for (instance->ring_kb = ring_kb();; instance->ring_kb /= 2) {
		snprintf(text, sizeof(text), "%u", instance->ring_kb);
		if (file_put(instance->folder, "buffer_size_kb", text))
			return true;
		if (errno != ENOMEM || instance->ring_kb / 2 < RING_SMALLEST_KB)
			return false;
	}
}

/*
 * When the last descriptor of free_buffer is closed, the kernel stops the recording and frees the
 * rings: also if the agent and its supervisor are killed at once.
 */
static void hold_switch(struct trace_instance *instance)
{
	file_put(instance->folder, "options/disable_on_free", "1");
	instance->holder = openat(instance->folder, "free_buffer", O_WRONLY | O_CLOEXEC);
}

/* Set up what was made. Returns NULL, or what could not be set. */
static const char *set_up(struct trace_instance *instance)
{
	if (!file_put(instance->folder, "tracing_on", "0"))
		return "tracing_on";
	if (!file_put(instance->folder, "trace_clock", "mono"))
		return "the trace clock 'mono'";
	if (!set_ring(instance))
		return "a ring buffer";
	file_put(instance->folder, "options/record-cmd", "0"); /* sched_switch has the names */
	hold_switch(instance);
	return trace_events_enable(instance->folder, instance->deep) ? NULL : "any event";
}

bool trace_instance_deepen(struct trace_instance *instance)
{
	const char *tracer = trace_deep_names[instance->deep];

	if (instance->deep <= TRACE_DEEP_PREEMPTIRQ)
		return true;
	file_put(instance->folder, "tracing_max_latency", NO_MAXIMUM);
	return file_put(instance->folder, "current_tracer", tracer);
}

/* What helps a user against this errno. */
static const char *hint(int error)
{
	char text[128];

	if (error != EACCES && error != EPERM)
		return "";
	if (geteuid())
		return ". Run as root";
	if (file_text(AT_FDCWD, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    strstr(text, "[confidentiality]"))
		return ". The kernel is locked down: boot with lockdown=integrity or without lockdown";
	return ". A container or a security policy forbids it: run the agent outside of it";
}

static int fail(struct trace_instance *instance, char *error, size_t error_size, const char *what)
{
	int reason = errno;

	snprintf(error, error_size, "%s: %s%s", what, strerror(reason), hint(reason));
	if (instance->tracefs >= 0)
		close(instance->tracefs);
	instance->tracefs = -1;
	return -1;
}

int trace_instance_open(struct trace_instance *instance, enum trace_deep deep, char *error,
			size_t error_size)
{
	const char *failed;
	char path[96];
	int reason;

	*instance =
		(struct trace_instance){ .tracefs = -1, .folder = -1, .holder = -1, .deep = deep };
	instance->tracefs = tracefs_open();
	if (instance->tracefs < 0)
		return fail(instance, error, error_size, "tracefs cannot be opened");
	remove_stale(instance->tracefs);
	errno = 0;
	if (!read_page_format(instance)) {
		if (!errno)
			errno = EOPNOTSUPP;
		return fail(instance, error, error_size, "the format of the kernel's trace pages");
	}
	snprintf(instance->name, sizeof(instance->name), NAME_PREFIX "%d-%llu", getpid(),
		 (unsigned long long)clock_now_ns());
	snprintf(path, sizeof(path), "instances/%s", instance->name);
	if (start_supervisor(instance))
		return fail(instance, error, error_size,
			    "the trace's supervisor cannot be started");
	if (!mkdirat(instance->tracefs, path, 0700))
		instance->folder =
			openat(instance->tracefs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	failed = instance->folder < 0 || flock(instance->folder, LOCK_EX | LOCK_NB) ?
			 "a trace instance" :
			 set_up(instance);
	if (!failed)
		return 0;
	reason = errno;
	snprintf(error, error_size, "%s cannot be had: %s%s", failed, strerror(reason),
		 hint(reason));
	trace_instance_close(instance);
	return -1;
}

bool trace_instance_record(const struct trace_instance *instance, bool on)
{
	return file_put(instance->folder, "tracing_on", on ? "1" : "0");
}

/* The supervisor removes the instance in every case, so there is one way to do it. */
void trace_instance_close(struct trace_instance *instance)
{
	if (instance->tracefs < 0)
		return;
	if (instance->holder >= 0)
		close(instance->holder);
	if (instance->folder >= 0)
		close(instance->folder);
	close(instance->lifeline);
	while (waitpid(instance->supervisor, NULL, 0) < 0 && errno == EINTR)
		;
	remove_instance(instance->tracefs, instance->name); /* the supervisor was killed */
	close(instance->tracefs);
	instance->tracefs = -1;
	instance->folder = -1;
}

void trace_instance_write(const struct trace_instance *instance, struct json *json)
{
	const uint16_t one = 1;

	json_begin(json, "trace");
	json_string(json, "clock", "mono");
	json_u64(json, "ring_kb", instance->ring_kb);
	json_u64(json, "page_size", instance->page_size);
	json_u64(json, "commit_size", instance->commit_size);
	json_bool(json, "little_endian", *(const uint8_t *)&one);
	json_string(json, "deep", trace_deep_names[instance->deep]);
	trace_events_write(instance->folder, instance->deep, json);
	json_end(json);
}
