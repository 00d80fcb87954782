// SPDX-License-Identifier: GPL-2.0-only
/*
 * Real-time throttling (kernel/sched/rt.c) stops SCHED_FIFO and SCHED_RR threads that have used
 * their runtime in a period. From Linux 6.12 on only kernels with CONFIG_RT_GROUP_SCHED do so, and
 * there each control group has its own runtime: the sysctl only turns all of it off. The file
 * sched/debug of debugfs prints a runtime exactly where the scheduler has the code; where it cannot
 * be read, a symbol of that code decides.
 *
 * Deadline servers (kernel/sched/deadline.c), from Linux 6.12 on: the fair server runs ordinary
 * threads that have waited, before real-time threads; the ext server those of a BPF scheduler. Only
 * debugfs shows and changes their runtime, and the sysctl does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/throttling.h"

#define SYSCTL_RUNTIME "proc/sys/kernel/sched_rt_runtime_us"
#define SYSCTL_PERIOD  "proc/sys/kernel/sched_rt_period_us"
#define SCHED_DEBUG    "sys/kernel/debug/sched"
#define SERVERS_SINCE  612 /* Linux 6.12 */

enum answer {
	UNKNOWN = -1,
	NO,
	YES,
};

static bool read_i64(int root, const char *path, int64_t *number)
{
	char text[32], *end;

	if (!file_text(root, path, text, sizeof(text)))
		return false;
	*number = strtoll(text, &end, 10);
	return end != text;
}

/* The kernel's version as 100 * major + minor; 0 where it is not known. */
static unsigned int kernel_version(int root)
{
	unsigned int major, minor;
	char text[256];

	if (!file_text(root, "proc/version", text, sizeof(text)) ||
	    sscanf(text, "Linux version %u.%u", &major, &minor) != 2 || minor > 99)
		return 0;
	return 100 * major + minor;
}

static FILE *open_at(int root, const char *path)
{
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

/*
 * Whether sched/debug prints a real-time runtime, and that of the root group in us, -1 for no
 * limit. Reads only the part of the first CPU.
 */
static enum answer runtime_in_debug(int root, int64_t *runtime_us)
{
	enum answer found = UNKNOWN;
	bool root_group = false;
	double runtime_ms;
	char line[512];
	FILE *file = open_at(root, SCHED_DEBUG "/debug");

	if (!file)
		return UNKNOWN;
	while (fgets(line, sizeof(line), file) && strncmp(line, "dl_rq[", 6)) {
		if (!strncmp(line, "rt_rq[", 6)) {
			const char *group = strstr(line, "]:");

			root_group = group && (!strcmp(group, "]:\n") || !strcmp(group, "]:/\n"));
			if (found == UNKNOWN)
				found = NO;
		} else if (root_group && sscanf(line, " .rt_runtime : %lf", &runtime_ms) == 1) {
			*runtime_us = (int64_t)(runtime_ms * 1000 + 0.5);
			found = YES;
		}
	}
	fclose(file);
	return found;
}

/* Whether the kernel has a function that CONFIG_RT_GROUP_SCHED alone builds. */
static enum answer group_symbol(int root)
{
	enum answer found = UNKNOWN;
	char line[512];
	FILE *file = open_at(root, "proc/kallsyms");

	if (!file)
		return UNKNOWN;
	while (found != YES && fgets(line, sizeof(line), file)) {
		if (strstr(line, " sched_group_set_rt_runtime\n"))
			found = YES;
		else if (strstr(line, " schedule\n"))
			found = NO; /* the list has functions */
	}
	fclose(file);
	return found;
}

/* Whether the controller cpu is in @names, the second field of a line such as "4:cpu,cpuacct:/". */
static bool has_cpu(char *names)
{
	char *rest = NULL;

	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(name, "cpu"))
			return true;
	}
	return false;
}

/* The runtime and period of this process's group in the v1 hierarchy of the controller cpu. */
static bool own_group(int root, char *path, size_t size, int64_t *runtime_us, int64_t *period_us)
{
	FILE *file = open_at(root, "proc/self/cgroup");
	char line[512], text[640];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (!has_cpu(names + 1))
			continue;
		group = strcmp(group, "/") ? group : "";
		snprintf(path, size, "sys/fs/cgroup/cpu%s", group);
		snprintf(text, sizeof(text), "%s/cpu.rt_runtime_us", path);
		found = read_i64(root, text, runtime_us);
		snprintf(text, sizeof(text), "%s/cpu.rt_period_us", path);
		found = found && read_i64(root, text, period_us);
	}
	if (file)
		fclose(file);
	return found;
}

static void decide(struct throttle *throttle, enum throttle_state state, const char *why)
{
	throttle->state = state;
	snprintf(throttle->why, sizeof(throttle->why), "%s", why);
}

static void set_share(struct throttle *throttle, int cpu, uint64_t runtime_ns, uint64_t period_ns)
{
	CPU_SET(cpu, &throttle->cpus);
	throttle->runtime_ns[cpu] = runtime_ns;
	throttle->period_ns[cpu] = period_ns;
}

/* The limit of real-time threads is @runtime_us of each @period_us on @online. */
static void set_limit(struct throttle *throttle, const cpu_set_t *online, int64_t runtime_us,
		      int64_t period_us, const char *where)
{
	bool on = runtime_us >= 0 && runtime_us < period_us;
	char why[sizeof(throttle->why)];

	snprintf(why, sizeof(why), "%s gives %" PRId64 " us of each %" PRId64 " us", where,
		 runtime_us, period_us);
	decide(throttle, on ? THROTTLE_ON : THROTTLE_OFF, why);
	for (int cpu = 0; on && cpu < CPUS_MAX; cpu++) {
		if (CPU_ISSET(cpu, online))
			set_share(throttle, cpu, runtime_us * NSEC_PER_USEC,
				  period_us * NSEC_PER_USEC);
	}
}

static void read_realtime(int root, unsigned int version, const cpu_set_t *online,
			  struct throttle *throttle)
{
	int64_t runtime_us, period_us, group_runtime_us, group_period_us;
	char path[512], where[600];
	enum answer built;

	if (!read_i64(root, SYSCTL_RUNTIME, &runtime_us) ||
	    !read_i64(root, SYSCTL_PERIOD, &period_us)) {
		decide(throttle, THROTTLE_UNKNOWN, "/" SYSCTL_RUNTIME " cannot be read");
		return;
	}
	if (runtime_us < 0) {
		decide(throttle, THROTTLE_OFF, "sysctl kernel.sched_rt_runtime_us is -1");
		return;
	}
	if (own_group(root, path, sizeof(path), &group_runtime_us, &group_period_us)) {
		snprintf(where, sizeof(where), "/%s/cpu.rt_runtime_us", path);
		set_limit(throttle, online, group_runtime_us, group_period_us, where);
		return;
	}
	if (version && version < SERVERS_SINCE) {
		set_limit(throttle, online, runtime_us, period_us,
			  "sysctl kernel.sched_rt_runtime_us");
		return;
	}
	built = runtime_in_debug(root, &group_runtime_us);
	if (built == YES) {
		set_limit(throttle, online, group_runtime_us, period_us, "/" SCHED_DEBUG "/debug");
		return;
	}
	if (built == UNKNOWN)
		built = group_symbol(root);
	if (built == YES)
		set_limit(throttle, online, runtime_us, period_us,
			  "CONFIG_RT_GROUP_SCHED=y; sysctl kernel.sched_rt_runtime_us");
	else if (built == NO)
		decide(throttle, THROTTLE_NONE,
		       "Linux 6.12 and later throttle only with CONFIG_RT_GROUP_SCHED, which this kernel lacks");
	else
		decide(throttle, THROTTLE_UNKNOWN,
		       "whether the kernel has CONFIG_RT_GROUP_SCHED is unknown: see its configuration, or run as root with debugfs at /sys/kernel/debug");
}

/* Why a server's settings cannot be read, after the errno @error, and what to do. */
static const char *unreadable(int error)
{
	switch (error) {
	case EACCES:
		return "only root may read /" SCHED_DEBUG ": run as root";
	case EPERM:
		return "kernel lockdown or a container forbids to read /" SCHED_DEBUG;
	case ENOENT:
		return "debugfs is not mounted: mount -t debugfs none /sys/kernel/debug";
	default:
		return "/" SCHED_DEBUG " cannot be read";
	}
}

/* Read the settings of the server @name on @online; false with errno where no CPU's can be read. */
static bool read_shares(int root, const char *name, const cpu_set_t *online,
			struct throttle *throttle)
{
	int error = ENOENT;

	throttle->state = THROTTLE_OFF;
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		int64_t runtime_ns, period_ns;
		char path[96];

		if (!CPU_ISSET(cpu, online))
			continue;
		snprintf(path, sizeof(path), SCHED_DEBUG "/%s_server/cpu%d/period", name, cpu);
		if (!read_i64(root, path, &period_ns)) {
			error = errno;
			continue;
		}
		snprintf(path, sizeof(path), SCHED_DEBUG "/%s_server/cpu%d/runtime", name, cpu);
		if (!read_i64(root, path, &runtime_ns))
			continue;
		set_share(throttle, cpu, runtime_ns, period_ns);
		if (runtime_ns)
			throttle->state = THROTTLE_ON;
	}
	errno = error;
	return CPU_COUNT(&throttle->cpus) > 0;
}

static void read_server(int root, const char *name, unsigned int version, const cpu_set_t *online,
			struct throttle *throttle)
{
	if (read_shares(root, name, online, throttle)) {
		snprintf(throttle->why, sizeof(throttle->why), "/" SCHED_DEBUG "/%s_server", name);
		return;
	}
	if (errno == ENOENT && !faccessat(root, SCHED_DEBUG, F_OK, 0))
		decide(throttle, THROTTLE_NONE, "/" SCHED_DEBUG " has no such server");
	else if (version && version < SERVERS_SINCE)
		decide(throttle, THROTTLE_NONE, "Linux has it from 6.12 on");
	else
		decide(throttle, THROTTLE_UNKNOWN, unreadable(errno));
}

/* The ext server runs threads of a BPF scheduler: without one there are none. */
static void read_ext_server(int root, unsigned int version, const cpu_set_t *online,
			    struct throttle *throttle)
{
	char text[32];

	if (!file_text(root, "sys/kernel/sched_ext/state", text, sizeof(text))) {
		decide(throttle, THROTTLE_NONE, "the kernel has no CONFIG_SCHED_CLASS_EXT");
		return;
	}
	read_server(root, "ext", version, online, throttle);
	if (strcmp(text, "enabled\n") && throttle->state != THROTTLE_NONE)
		decide(throttle, THROTTLE_IDLE, "no BPF scheduler is loaded");
}

void throttling_read(int root, struct throttling *throttling)
{
	unsigned int version = kernel_version(root);
	cpu_set_t online;

	memset(throttling, 0, sizeof(*throttling));
	cpus_online_below(root, &online);
	read_realtime(root, version, &online, &throttling->realtime);
	read_server(root, "fair", version, &online, &throttling->fair_server);
	read_ext_server(root, version, &online, &throttling->ext_server);
}

/* Take from @left the CPUs that have the same settings as its first; false where none is left. */
static bool next_alike(const struct throttle *throttle, cpu_set_t *left, cpu_set_t *alike,
		       int *first)
{
	CPU_ZERO(alike);
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!CPU_ISSET(cpu, left))
			continue;
		if (!CPU_COUNT(alike))
			*first = cpu;
		if (throttle->runtime_ns[cpu] != throttle->runtime_ns[*first] ||
		    throttle->period_ns[cpu] != throttle->period_ns[*first])
			continue;
		CPU_SET(cpu, alike);
		CPU_CLR(cpu, left);
	}
	return CPU_COUNT(alike) > 0;
}

static const char *cpus_text(const cpu_set_t *cpus, char *list, size_t size)
{
	cpulist_format(cpus, list, size);
	return CPU_COUNT(cpus) == 1 ? "CPU" : "CPUs";
}

static void warn_realtime(const struct throttle *throttle, const char *names, const char *list,
			  int cpu, warn_fn *warn)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "real-time throttling is on: on %s %.64s real-time threads may use %g ms of each %g ms, and the kernel stops one that needs more for the rest; sysctl kernel.sched_rt_runtime_us=-1 turns it off",
		 names, list, (double)throttle->runtime_ns[cpu] / NSEC_PER_MSEC,
		 (double)throttle->period_ns[cpu] / NSEC_PER_MSEC);
	warn("rt-throttling", text);
}

static void warn_server(const struct throttle *throttle, const char *name, const char *names,
			const char *list, int cpu, warn_fn *warn)
{
	bool fair = !strcmp(name, "fair");
	char code[16], text[512];

	snprintf(code, sizeof(code), "%s-server", name);
	snprintf(text, sizeof(text),
		 "%s server is on: %s that waits on %s %.64s gets up to %g ms of each %g ms before real-time threads; turn it off with 'echo 0 > /" SCHED_DEBUG
		 "/%s_server/cpu%d/runtime'%s, after sysctl kernel.sched_rt_runtime_us=-1 if the kernel refuses it (EBUSY)",
		 name, fair ? "an ordinary thread" : "a thread of the BPF scheduler", names, list,
		 (double)throttle->runtime_ns[cpu] / NSEC_PER_MSEC,
		 (double)throttle->period_ns[cpu] / NSEC_PER_MSEC, name, cpu,
		 strchr(list, ',') || strchr(list, '-') ? " and so for each of these CPUs" : "");
	warn(code, text);
}

static void warn_unknown(const struct throttle *throttle, const char *code, const char *what,
			 warn_fn *warn)
{
	char text[512];

	if (throttle->state != THROTTLE_UNKNOWN)
		return;
	snprintf(text, sizeof(text), "%s: unknown; %s", what, throttle->why);
	warn(code, text);
}

/* Warn of @throttle on those of @cpus where it has a runtime; @server is NULL for throttling. */
static void warn_on(const struct throttle *throttle, const char *server, const cpu_set_t *cpus,
		    warn_fn *warn)
{
	cpu_set_t left, alike;
	char list[CPULIST_SIZE];
	int first = 0;

	if (throttle->state != THROTTLE_ON)
		return;
	CPU_AND(&left, &throttle->cpus, cpus);
	while (next_alike(throttle, &left, &alike, &first)) {
		const char *names = cpus_text(&alike, list, sizeof(list));

		if (!server)
			warn_realtime(throttle, names, list, first, warn);
		else if (throttle->runtime_ns[first])
			warn_server(throttle, server, names, list, first, warn);
	}
}

void throttling_warn(const struct throttling *throttling, const cpu_set_t *cpus, warn_fn *warn)
{
	warn_on(&throttling->realtime, NULL, cpus, warn);
	warn_on(&throttling->fair_server, "fair", cpus, warn);
	warn_on(&throttling->ext_server, "ext", cpus, warn);
	warn_unknown(&throttling->realtime, "rt-throttling-unknown", "real-time throttling", warn);
	warn_unknown(&throttling->fair_server, "fair-server-unknown",
		     "time that ordinary threads get before real-time threads (fair server, by default 50 ms of each 1000 ms)",
		     warn);
	warn_unknown(&throttling->ext_server, "ext-server-unknown",
		     "time that threads of the BPF scheduler get before real-time threads (ext server)",
		     warn);
}

static const char *const state_names[] = { "unknown", "none", "off", "idle", "on" };

static void put_throttle(const struct throttle *throttle, const char *key, struct json *json)
{
	cpu_set_t left = throttle->cpus, alike;
	char list[CPULIST_SIZE];
	int first = 0;

	json_object_begin(json, key);
	json_string(json, "state", state_names[throttle->state]);
	json_string(json, "why", throttle->why);
	json_array_begin(json, "shares");
	while (next_alike(throttle, &left, &alike, &first)) {
		cpulist_format(&alike, list, sizeof(list));
		json_object_begin(json, NULL);
		json_string(json, "cpus", list);
		json_u64(json, "runtime_ns", throttle->runtime_ns[first]);
		json_u64(json, "period_ns", throttle->period_ns[first]);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void throttling_put(const struct throttling *throttling, struct json *json)
{
	json_object_begin(json, "throttling");
	put_throttle(&throttling->realtime, "realtime", json);
	put_throttle(&throttling->fair_server, "fair_server", json);
	put_throttle(&throttling->ext_server, "ext_server", json);
	json_object_end(json);
}

static void print_throttle(const struct throttle *throttle, const char *name)
{
	cpu_set_t left = throttle->cpus, alike;
	char list[CPULIST_SIZE];
	int first = 0;

	printf("%s: %s; %s\n", name, state_names[throttle->state], throttle->why);
	while (next_alike(throttle, &left, &alike, &first)) {
		cpulist_format(&alike, list, sizeof(list));
		printf("  CPUs %s: %" PRIu64 " ns of each %" PRIu64 " ns\n", list,
		       throttle->runtime_ns[first], throttle->period_ns[first]);
	}
}

void throttling_print(const struct throttling *throttling)
{
	print_throttle(&throttling->realtime, "real-time throttling");
	print_throttle(&throttling->fair_server, "fair server");
	print_throttle(&throttling->ext_server, "ext server");
	putchar('\n');
}
