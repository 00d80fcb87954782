// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "proc/file.h"
#include "trace/events.h"

#define FORMAT_MAX 16384

const char *const trace_deep_names[] = {
	"none", "preemptirq", "function", "irqsoff", "preemptoff", NULL,
};

/*
 * Each is SYSTEM/NAME; NAME "*": all of the system. What a kernel lacks is reported with the run,
 * unless it is of one architecture, or of several CPUs, only.
 *
 * Each event costs some 700 instructions, so that those of an ordinary wake-up are as few as can
 * be: sched_wakeup repeats what sched_waking and sched_migrate_task contain, and the timers of
 * sleeping threads are filtered out of hrtimer_expire_entry (Linux 6.6 and later).
 */
static const struct {
	const char *name;
	bool optional;
	const char *filter; /* NULL: none; an older kernel that refuses it records every event */
} events[] = {
	{ "sched/sched_switch", false, NULL },
	{ "sched/sched_waking", false, NULL },
	{ "sched/sched_migrate_task", false, NULL },
	{ "sched/sched_pi_setprio", false, NULL },
	{ "irq/irq_handler_entry", false, NULL },
	{ "irq/irq_handler_exit", false, NULL },
	{ "irq/softirq_entry", false, NULL },
	{ "irq/softirq_exit", false, NULL },
	{ "irq_vectors/*", true, NULL },
	{ "powerpc/irq_entry", true, NULL },
	{ "powerpc/irq_exit", true, NULL },
	{ "powerpc/timer_interrupt_entry", true, NULL },
	{ "powerpc/timer_interrupt_exit", true, NULL },
	{ "powerpc/doorbell_entry", true, NULL },
	{ "powerpc/doorbell_exit", true, NULL },
	{ "ipi/*", true, NULL },
	{ "csd/*", true, NULL },
	{ "timer/hrtimer_expire_entry", false, "function.function != hrtimer_wakeup" },
	{ "timer/timer_expire_entry", false, NULL },
	{ "timer/timer_expire_exit", false, NULL },
	{ "power/cpu_idle", false, NULL },
	{ "workqueue/workqueue_queue_work", false, NULL },
	{ "workqueue/workqueue_execute_start", false, NULL },
	{ "workqueue/workqueue_execute_end", false, NULL },
	{ "lock/contention_begin", false, NULL },
	{ "lock/contention_end", false, NULL },
	{ "exceptions/*", true, NULL },
	{ "nmi/nmi_handler", true, NULL },
	{ "cpuhp/cpuhp_enter", true, NULL },
	{ "cpuhp/cpuhp_exit", true, NULL },
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

typedef void visit_fn(int directory, const char *name, const char *filter, bool known, void *data);

/* Call @visit for each event of a system but vector_*, which describe how interrupts are routed. */
static bool each_of_system(int directory, const char *name, visit_fn *visit, void *data)
{
	size_t length = strlen(name) - strlen("/*");
	const struct dirent *entry;
	char path[320];
	DIR *system;
	int fd;

	snprintf(path, sizeof(path), "%.*s", (int)length, name);
	fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	system = fd >= 0 ? fdopendir(fd) : NULL;
	if (!system) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(system))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    !strncmp(entry->d_name, "vector_", strlen("vector_")))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", (int)length, name, entry->d_name);
		visit(directory, path, NULL, true, data);
	}
	closedir(system);
	return true;
}

/* Call @visit for each event; @known is false for one that this kernel lacks. */
static void each_event(int folder, enum trace_deep deep, visit_fn *visit, void *data)
{
	int directory = openat(folder, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; directory >= 0 && i < EVENTS; i++) {
		const char *name = events[i].name;
		bool whole = strchr(name, '*'), known;

		known = whole ? each_of_system(directory, name, visit, data) :
				!faccessat(directory, name, F_OK, 0);
		if (whole && known)
			continue;
		if (known || !events[i].optional)
			visit(directory, name, events[i].filter, known, data);
	}
	if (directory >= 0 && deep == TRACE_DEEP_PREEMPTIRQ &&
	    !each_of_system(directory, "preemptirq/*", visit, data))
		visit(directory, "preemptirq/*", NULL, false, data);
	if (directory >= 0)
		close(directory);
}

static void enable_event(int directory, const char *name, const char *filter, bool known,
			 void *data)
{
	unsigned int *enabled = data;
	char path[352];

	if (known && filter) {
		snprintf(path, sizeof(path), "%s/filter", name);
		file_put(directory, path, filter);
	}
	snprintf(path, sizeof(path), "%s/enable", name);
	if (known && file_put(directory, path, "1"))
		(*enabled)++;
}

unsigned int trace_events_enable(int folder, enum trace_deep deep)
{
	unsigned int enabled = 0;

	each_event(folder, deep, enable_event, &enabled);
	return enabled;
}

static void write_format(int directory, const char *name, const char *filter, bool known,
			 void *data)
{
	static char text[FORMAT_MAX];
	struct json *json = data;
	char path[352];

	(void)filter;
	snprintf(path, sizeof(path), "%s/format", name);
	if (!known || !file_text(directory, path, text, sizeof(text)))
		return;
	json_object_begin(json, NULL);
	json_string(json, "name", name);
	json_string(json, "format", text);
	json_object_end(json);
}

static void write_missing(int directory, const char *name, const char *filter, bool known,
			  void *data)
{
	(void)directory;
	(void)filter;
	if (!known)
		json_string(data, NULL, name);
}

void trace_events_write(int folder, enum trace_deep deep, struct json *json)
{
	int directory = -1;

	json_array_begin(json, "events");
	each_event(folder, deep, write_format, json);
	if (deep > TRACE_DEEP_PREEMPTIRQ)
		directory = openat(folder, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0) {
		write_format(directory, "ftrace/function", NULL, true, json);
		close(directory);
	}
	json_array_end(json);
	json_array_begin(json, "missing");
	each_event(folder, deep, write_missing, json);
	json_array_end(json);
}
