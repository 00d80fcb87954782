// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread as /proc describes it.
 *
 * A thread may choose any name, with blanks, brackets and line ends. The numbers
 * after it have none of these, so the name ends at the last bracket.
 *
 * The rank follows the priority that the scheduler uses at the moment, which
 * includes priority inheritance. The stop threads (migration/N) are shown as
 * SCHED_FIFO 99, but preempt all others, deadline threads too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/file.h"
#include "proc/policies.h"
#include "proc/thread.h"

#define FLAG_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
#define FLAG_BOUND	   0x04000000 /* PF_NO_SETAFFINITY */

/* By the beginning of a kernel thread's name. */
static const struct {
	const char *name;
	const char *softirq;
} softirq_threads[] = {
	{ "ksoftirqd/", "all" }, { "ktimers/", "timers" },	 { "rcuc/", "rcu" },
	{ "napi/", "network" },	 { "backlog_napi/", "network" },
};

static bool starts(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static bool is_realtime_policy(unsigned int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

/* @now: the 18th field of /proc/PID/stat, below 0 for real-time threads. */
static void set_rank(struct thread *thread, int now)
{
	int own = thread->policy == SCHED_DEADLINE   ? RANK_DEADLINE :
		  is_realtime_policy(thread->policy) ? -1 - thread->priority :
						       20 + thread->nice;

	thread->inherited = now < 0 && now < own;
	thread->rank = now < 0 ? now : own;
	if (thread->inherited)
		return;
	if (thread->kernel && starts(thread->name, "migration/"))
		thread->rank = RANK_STOP;
	else if (thread->policy == SCHED_IDLE)
		thread->rank = RANK_IDLE;
	else if (thread->policy == SCHED_EXT)
		thread->rank = RANK_EXT;
}

bool thread_parse_stat(char *text, struct thread *thread)
{
	char *name = strchr(text, '('), *end = strrchr(text, ')'), *rest;
	long long figure[42];
	size_t length;

	if (!name || !end || end < name || end[1] != ' ' || !end[2])
		return false;
	length = (size_t)(end - ++name);
	if (length >= sizeof(thread->name))
		length = sizeof(thread->name) - 1;
	memcpy(thread->name, name, length);
	thread->name[length] = '\0';
	thread->tid = atoi(text);
	thread->state = end[2];
	rest = end + 3;
	for (int i = 4; i <= 41; i++) { /* as proc(5) counts them */
		char *next;

		figure[i] = strtoll(rest, &next, 10);
		if (next == rest)
			return false;
		rest = next;
	}
	thread->parent = (int)figure[4];
	thread->kernel = figure[9] & FLAG_KERNEL_THREAD;
	thread->bound = figure[9] & FLAG_BOUND;
	thread->ticks = (uint64_t)(figure[14] + figure[15]);
	thread->child_ticks = (uint64_t)(figure[16] + figure[17]);
	thread->nice = (int)figure[19];
	thread->start_ticks = (uint64_t)figure[22];
	thread->cpu = (int)figure[39];
	thread->priority = (int)figure[40];
	thread->policy = (unsigned int)figure[41];
	set_rank(thread, (int)figure[18]);
	return true;
}

bool thread_read_stat(int directory, struct thread *thread)
{
	char text[1024];

	return file_text(directory, "stat", text, sizeof(text)) && thread_parse_stat(text, thread);
}

bool thread_read(int tid, struct thread *thread)
{
	char path[32], text[1024];

	*thread = (struct thread){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	return file_text(AT_FDCWD, path, text, sizeof(text)) && thread_parse_stat(text, thread);
}

const char *thread_policy_name(const struct thread *thread)
{
	return policy_name_of(thread->policy);
}

bool thread_is_realtime(const struct thread *thread)
{
	return thread->rank < 0;
}

int thread_irq(const struct thread *thread)
{
	const char *number = thread->name + strlen("irq/");
	char *end;
	long irq;

	if (!thread->kernel || !starts(thread->name, "irq/") || *number < '0' || *number > '9')
		return -1;
	irq = strtol(number, &end, 10);
	return *end == '-' && irq <= INT32_MAX ? (int)irq : -1;
}

const char *thread_softirq(const struct thread *thread)
{
	for (size_t i = 0; i < sizeof(softirq_threads) / sizeof(softirq_threads[0]); i++) {
		if (thread->kernel && starts(thread->name, softirq_threads[i].name))
			return softirq_threads[i].softirq;
	}
	return NULL;
}

static int compare(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

int thread_order(const void *one, const void *other)
{
	const struct thread *a = one, *b = other;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->given.deadline_ns != b->given.deadline_ns)
		return compare(a->given.deadline_ns, b->given.deadline_ns);
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}
