// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads' policies, niceness and CPUs, as rules want them.
 *
 * A thread's key is its number and its start: the number alone may be another
 * thread's by the time it is used. The start is read right before each
 * change, because no system call sets a policy by a pidfd.
 *
 * By system calls: musl's own sched_setscheduler() and its kin always fail.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/cpus.h"
#include "proc/policies.h"
#include "proc/status.h"
#include "proc/threads_read.h"
#include "tune/capability.h"
#include "tune/threads.h"

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif
#define RESET_ON_FORK "+reset-on-fork"
#define ANCESTORS_MAX 64

/* Read the thread of a key; ESRCH where that has ended, though its number may be another's. */
static int read_key(const char *key, struct thread *thread)
{
	char *rest;
	int tid = (int)strtol(key, &rest, 10);

	return thread_read(tid, thread) && thread->start_ticks == strtoull(rest, NULL, 10) ? 0 :
											     ESRCH;
}

void tune_thread_key(const struct thread *thread, char key[TUNE_THREAD_KEY_SIZE])
{
	snprintf(key, TUNE_THREAD_KEY_SIZE, "%d %llu", thread->tid,
		 (unsigned long long)thread->start_ticks);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	struct thread thread;
	int tid = atoi(key);

	snprintf(where, size, "tid %d", tid);
	if (read_key(key, &thread))
		snprintf(what, size, "a thread (tid %d)", tid);
	else
		snprintf(what, size, "%s (tid %d)", thread.name, tid);
}

static void format_policy(int policy, int priority, char *value, size_t size)
{
	int number = policy & ~SCHED_RESET_ON_FORK;
	const char *name = policy_name_of((unsigned int)number);
	char ranked[16] = "";

	if (priority)
		snprintf(ranked, sizeof(ranked), ":%d", priority);
	if (!name)
		snprintf(value, size, "unknown");
	else if (number == SCHED_DEADLINE)
		snprintf(value, size, "%s", name);
	else
		snprintf(value, size, "%s%s%s", name, ranked,
			 policy & SCHED_RESET_ON_FORK ? RESET_ON_FORK : "");
}

static int read_policy(const char *key, char *value, size_t size)
{
	struct sched_param param = { 0 };
	struct thread thread;
	int policy, error = read_key(key, &thread);

	if (error)
		return error;
	policy = (int)syscall(SYS_sched_getscheduler, thread.tid);
	if (policy < 0 || syscall(SYS_sched_getparam, thread.tid, &param))
		return errno;
	format_policy(policy, param.sched_priority, value, size);
	return 0;
}

static int write_policy(const char *key, const char *value)
{
	char name[16];
	struct sched_param param = { 0 };
	struct thread thread;
	int policy, error = read_key(key, &thread);

	if (error)
		return error;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, ":+"), value);
	policy = policy_number_of(name);
	if (policy < 0)
		return EINVAL;
	value += strlen(name);
	if (*value == ':')
		param.sched_priority = (int)strtol(value + 1, NULL, 10);
	if (strchr(value, '+'))
		policy |= SCHED_RESET_ON_FORK;
	return syscall(SYS_sched_setscheduler, thread.tid, policy, &param) ? errno : 0;
}

static int read_nice(const char *key, char *value, size_t size)
{
	struct thread thread;
	int error = read_key(key, &thread);

	if (!error)
		snprintf(value, size, "%d", thread.nice);
	return error;
}

static int write_nice(const char *key, const char *value)
{
	struct thread thread;
	int error = read_key(key, &thread);

	if (error)
		return error;
	return setpriority(PRIO_PROCESS, (id_t)thread.tid, (int)strtol(value, NULL, 10)) ? errno :
											   0;
}

/* From the thread's own file: the system call returns only CPUs that are online. */
static int read_allowed(int tid, char *value, size_t size)
{
	const char *status = status_read_pid(tid);

	if (!status)
		return ESRCH;
	return status_copy(status, "Cpus_allowed_list", value, size) ? 0 : ENOTSUP;
}

static int read_cpus(const char *key, char *value, size_t size)
{
	struct thread thread;
	int error = read_key(key, &thread);

	return error ? error : read_allowed(thread.tid, value, size);
}

static int write_cpus(const char *key, const char *value)
{
	struct thread thread;
	cpu_set_t cpus;
	int error = read_key(key, &thread);

	if (error)
		return error;
	if (!cpulist_parse(value, &cpus))
		return EINVAL;
	return syscall(SYS_sched_setaffinity, thread.tid, sizeof(cpus), &cpus) < 0 ? errno : 0;
}

static const char *immovable_cpus(int error)
{
	return error == EINVAL ?
		       "the kernel binds this thread to its CPUs, or its cpuset has none of them" :
		       NULL;
}

static bool is_own(int tid)
{
	char path[64];
	struct stat file;

	snprintf(path, sizeof(path), "/proc/%d", tid);
	return !stat(path, &file) && file.st_uid == geteuid();
}

static const char *lacking_cpus(const char *key, const char *value)
{
	(void)value;
	return is_own(atoi(key)) ? NULL : capability_lacking(CAPABILITY_SYS_NICE);
}

/* Only a privileged user may lower a nice value below what RLIMIT_NICE allows. */
static bool may_have_nice(long nice)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NICE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY || 20 - nice <= (long)limit.rlim_cur);
}

/* To leave SCHED_IDLE again takes the right to the thread's nice value. */
static const char *lacking_policy(const char *key, const char *value)
{
	const char *priority = strchr(value, ':');
	struct rlimit limit;
	struct thread thread;
	bool may = !priority || (!getrlimit(RLIMIT_RTPRIO, &limit) &&
				 strtoul(priority + 1, NULL, 10) <= limit.rlim_cur);

	if (!strcmp(value, "idle") && !read_key(key, &thread))
		may = may_have_nice(thread.nice);
	return is_own(atoi(key)) && may ? NULL : capability_lacking(CAPABILITY_SYS_NICE);
}

/* A nice value that this user may raise but not lower again could not be restored. */
static const char *lacking_nice(const char *key, const char *value)
{
	struct thread thread;
	long nice = strtol(value, NULL, 10);

	if (is_own(atoi(key)) && (read_key(key, &thread) || thread.nice == nice ||
				  may_have_nice(thread.nice < nice ? thread.nice : nice)))
		return NULL;
	return capability_lacking(CAPABILITY_SYS_NICE);
}

static const char *const rivals[] = { "tuned",	     "rtkit-daemon", "stalld",
				      "ananicy-cpp", "cpusetd",	     NULL };

const struct tune_kind tune_thread_policy = {
	.name = "thread-policy",
	.read = read_policy,
	.write = write_policy,
	.describe = describe,
	.lacking = lacking_policy,
	.rivals = rivals,
};

const struct tune_kind tune_thread_nice = {
	.name = "thread-nice",
	.read = read_nice,
	.write = write_nice,
	.describe = describe,
	.lacking = lacking_nice,
	.rivals = rivals,
};

const struct tune_kind tune_thread_cpus = {
	.name = "thread-cpus",
	.read = read_cpus,
	.write = write_cpus,
	.describe = describe,
	.immovable = immovable_cpus,
	.lacking = lacking_cpus,
	.given_up = cpus_unplugged,
	.rivals = rivals,
};

static void add_policy(const struct tune_wish *wish, const char *key, struct tune_plan *plan)
{
	char old_value[64], new_value[64];
	struct tune_change *change;
	int reset;

	if (wish->policy < 0 || read_policy(key, old_value, sizeof(old_value)))
		return;
	reset = strchr(old_value, '+') ? SCHED_RESET_ON_FORK : 0;
	format_policy(wish->policy | reset, wish->priority, new_value, sizeof(new_value));
	change = tune_plan_want(plan, &tune_thread_policy, key, old_value, new_value);
	if (change)
		change->rule = wish->policy_by;
	if (change && strchr("deu", *old_value)) { /* deadline, ext, unknown */
		change->state = TUNE_IMMOVABLE;
		snprintf(change->why, sizeof(change->why),
			 "a thread of a policy with a reservation of its own is left as it is");
	}
}

static void add_nice(const struct tune_wish *wish, const struct thread *thread, const char *key,
		     struct tune_plan *plan)
{
	char old_value[16], new_value[16];
	struct tune_change *change;

	if (!wish->has_nice)
		return;
	snprintf(old_value, sizeof(old_value), "%d", thread->nice);
	snprintf(new_value, sizeof(new_value), "%d", wish->nice);
	change = tune_plan_want(plan, &tune_thread_nice, key, old_value, new_value);
	if (change)
		change->rule = wish->nice_by;
}

static void add_cpus(const struct tune_wish *wish, const struct thread *thread, const char *key,
		     const char *allowed, struct tune_plan *plan)
{
	char new_value[CPULIST_SIZE];
	struct tune_change *change;

	cpulist_format(&wish->cpus, new_value, sizeof(new_value));
	change = tune_plan_want(plan, &tune_thread_cpus, key, allowed, new_value);
	if (change)
		change->rule = wish->cpus_by;
	if (change && change->state == TUNE_PLANNED && thread->bound) {
		change->state = TUNE_IMMOVABLE;
		snprintf(change->why, sizeof(change->why), "%s", immovable_cpus(EINVAL));
	}
}

/* The agent and its ancestors, up to the first process; read at the first use. */
struct lineage {
	int pid[ANCESTORS_MAX];
	unsigned int count;
};

static void read_lineage(struct lineage *lineage)
{
	struct thread process = { .parent = getpid() };

	while (process.parent > 0 && lineage->count < ANCESTORS_MAX) {
		lineage->pid[lineage->count++] = process.parent;
		if (!thread_read(process.parent, &process))
			break;
	}
}

static bool is_ancestor(struct lineage *lineage, int pid)
{
	if (!lineage->count)
		read_lineage(lineage);
	for (unsigned int i = 1; i < lineage->count; i++) {
		if (lineage->pid[i] == pid)
			return true;
	}
	return false;
}

/* Threads that rules would move but the kernel does not release: one warning for all. */
struct bound {
	unsigned int count;
	char names[160];
};

static void note_bound(struct bound *bound, const char *name)
{
	size_t used = strlen(bound->names);

	if (bound->count++ < 4)
		snprintf(bound->names + used, sizeof(bound->names) - used, "%s%s", used ? ", " : "",
			 name);
}

/*
 * An interrupt's thread follows its interrupt, so it goes where that goes, unless a rule names the
 * thread itself.
 */
static void resolve(const struct tune_rules *rules, const struct thread *thread,
		    const char *allowed, struct lineage *lineage, struct bound *bound,
		    struct tune_plan *plan)
{
	static struct thread_identity identity;
	struct thread now = *thread;
	struct tune_wish wish;
	bool known = false;
	cpu_set_t cpus;
	char key[TUNE_THREAD_KEY_SIZE];

	if (thread->pid == getpid() || !cpulist_parse(allowed, &cpus))
		return;
	if (!thread->kernel && tune_rules_name_thread(rules, thread->name, false))
		known = thread_identity_read(thread->tid, &now, &identity) &&
			now.start_ticks == thread->start_ticks;
	tune_rules_match_thread(rules, now.name, thread->kernel, known ? &identity : NULL, &cpus,
				&wish);
	tune_thread_key(thread, key);
	if ((wish.policy >= 0 || wish.has_nice) && !is_ancestor(lineage, thread->pid)) {
		add_policy(&wish, key, plan);
		add_nice(&wish, thread, key, plan);
	}
	if (!wish.has_cpus)
		return;
	if (wish.explicit_cpus || (!thread->bound && thread_irq(thread) < 0))
		add_cpus(&wish, thread, key, allowed, plan);
	else if (thread->bound && !CPU_EQUAL(&wish.cpus, &cpus))
		note_bound(bound, thread->name);
}

int tune_threads_resolve(const struct tune_rules *rules, struct tune_plan *plan, warn_fn *warn)
{
	static struct thread_list list;
	struct lineage lineage = { 0 };
	struct bound bound = { 0 };
	char text[320];

	if (threads_read(&list))
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (list.thread[i].cpus)
			resolve(rules, &list.thread[i], list.thread[i].cpus, &lineage, &bound,
				plan);
	}
	plan->memory_short |= list.memory_short;
	if (list.denied)
		warn("threads-denied",
		     "some processes cannot be read (/proc is mounted with hidepid), so rules do not reach them; run as root");
	if (!bound.count)
		return 0;
	snprintf(text, sizeof(text), "the kernel does not allow to move %u of its threads: %s%s",
		 bound.count, bound.names, bound.count > 4 ? " and others" : "");
	tune_plain(text);
	warn("threads-bound", text);
	return 0;
}

bool tune_thread_is_wanted(const struct tune_change *change)
{
	static struct thread_identity identity;
	struct thread thread, now;

	if (!change->rule || change->rule->kind != RULE_THREAD || read_key(change->key, &thread))
		return true;
	return thread_identity_read(thread.tid, &now, &identity) &&
	       now.start_ticks == thread.start_ticks &&
	       tune_rule_wants_thread(change->rule, now.name, now.kernel ? NULL : &identity);
}

void tune_thread_resolve(const struct tune_rules *rules, int tid, struct tune_plan *plan)
{
	char allowed[CPULIST_SIZE];
	struct bound bound = { 0 };
	struct lineage lineage = { 0 };
	struct thread thread;

	if (!thread_read(tid, &thread) || read_allowed(tid, allowed, sizeof(allowed)))
		return;
	thread.pid = tid; /* the agent's own threads are recognised by their process: */
	if (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		return;
	resolve(rules, &thread, allowed, &lineage, &bound, plan);
}
