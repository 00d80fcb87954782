// SPDX-License-Identifier: GPL-2.0-only
/* The two ways of writing threads: the protocol, and a table like ps -Leo's. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "proc/threads_output.h"

/* The flag was written with a blank before Linux 5.9. */
static bool kernel_is_realtime(void)
{
	struct utsname name;

	return !uname(&name) &&
	       (strstr(name.version, "PREEMPT_RT") || strstr(name.version, "PREEMPT RT"));
}

static void put_text_if(struct json *json, const char *key, const char *text)
{
	if (text && *text)
		json_string(json, key, text);
	else
		json_null(json, key);
}

static void put_times(struct json *json, const struct thread_times *times, bool switches)
{
	json_u64(json, "cpu_ns", times->cpu_ns);
	json_u64_if(json, switches, "voluntary", times->voluntary);
	json_u64_if(json, switches, "forced", times->forced);
}

static void put_thread(struct json *json, const struct thread *thread, bool since)
{
	bool known = thread->given.runtime_ns, fair = !thread_is_realtime(thread);
	char state[2] = { thread->state };
	int irq = thread_irq(thread);

	json_object_begin(json, NULL);
	json_u64(json, "pid", (uint64_t)thread->pid);
	json_u64(json, "tid", (uint64_t)thread->tid);
	json_string(json, "name", thread->name);
	json_bool(json, "kernel", thread->kernel);
	put_text_if(json, "policy", thread_policy_name(thread));
	json_u64_if(json, thread->priority, "priority", (uint64_t)thread->priority);
	if (fair)
		json_i64(json, "nice", thread->nice);
	else
		json_null(json, "nice");
	json_u64_if(json, known, "runtime_ns", thread->given.runtime_ns);
	json_u64_if(json, known, "deadline_ns", thread->given.deadline_ns);
	json_u64_if(json, known, "period_ns", thread->given.period_ns);
	json_i64(json, "rank", thread->rank);
	json_bool(json, "inherited", thread->inherited);
	put_text_if(json, "cpus", thread->cpus);
	json_cpu(json, thread->cpu);
	json_bool(json, "isolated", thread->isolated);
	json_string(json, "state", state);
	put_text_if(json, "wait_channel", thread->wait_channel);
	put_text_if(json, "wait_module", thread->wait_module);
	json_u64_if(json, irq >= 0, "irq", (uint64_t)irq);
	put_text_if(json, "softirq", thread_softirq(thread));
	put_times(json, &thread->times, thread->switches_known);
	if (since) {
		json_object_begin(json, "since");
		put_times(json, &thread->since, thread->switches_known);
		json_object_end(json);
	} else {
		json_null(json, "since");
	}
	json_object_end(json);
}

void threads_send(struct json *json, const struct thread_list *list, uint64_t time_ns,
		  uint64_t since_ns)
{
	json_begin(json, "threads");
	json_u64(json, "time_ns", time_ns);
	json_u64_if(json, since_ns, "since_ns", since_ns);
	json_bool(json, "realtime_kernel", kernel_is_realtime());
	json_string(json, "isolated", list->reserved.isolated.text);
	json_string(json, "nohz_full", list->reserved.nohz_full.text);
	json_string(json, "partition", list->reserved.partition.text);
	json_array_begin(json, "threads");
	for (size_t i = 0; i < list->count; i++)
		put_thread(json, &list->thread[i], since_ns);
	json_array_end(json);
	json_end(json);
}

static void print_reserved(const struct reserved_cpus *reserved)
{
	if (*reserved->isolated.text)
		printf("isolated CPUs: %s\n", reserved->isolated.text);
	if (*reserved->nohz_full.text)
		printf("CPUs without a tick (nohz_full): %s\n", reserved->nohz_full.text);
	if (*reserved->partition.text)
		printf("CPUs of isolated cpusets: %s\n", reserved->partition.text);
}

static void print_head(const struct thread_list *list, size_t shown, uint64_t since_ns)
{
	printf("%zu of %zu threads", shown, list->count);
	if (since_ns)
		printf("; CPU time and switches in the last %.3f s",
		       (double)since_ns / (double)NSEC_PER_SEC);
	putchar('\n');
	print_reserved(&list->reserved);
	printf("%7s %7s %-8s %6s %3s %-9s %3s %1s %13s %9s %9s %-9s %-24s %s\n", "PID", "TID",
	       "POLICY", "RTPRIO", "NI", "CPUS", "CPU", "S", "TIME(ms)", "VOL", "FORCED", "SERVES",
	       "WCHAN", "NAME");
}

/* What may steer a terminal becomes a question mark. */
static void print_text(const char *text)
{
	for (; *text; text++)
		putchar(*text < ' ' || *text > '~' ? '?' : *text);
}

/* "50", what it has inherited in "50^80" and "-^dl", or "-". */
static void print_priority(const struct thread *thread)
{
	char own[8] = "-", text[24];

	if (thread->priority)
		snprintf(own, sizeof(own), "%d", thread->priority);
	if (!thread->inherited)
		snprintf(text, sizeof(text), "%s", own);
	else if (thread->rank == RANK_DEADLINE)
		snprintf(text, sizeof(text), "%s^dl", own);
	else
		snprintf(text, sizeof(text), "%s^%d", own, -1 - thread->rank);
	printf(" %6s", text);
}

static void print_serves(const struct thread *thread)
{
	const char *softirq = thread_softirq(thread);
	int irq = thread_irq(thread);
	char text[32] = "-";

	if (irq >= 0)
		snprintf(text, sizeof(text), "irq %d", irq);
	else if (softirq)
		snprintf(text, sizeof(text), "softirq");
	printf(" %-9s", text);
}

static void print_switches(const struct thread *thread, const struct thread_times *times)
{
	if (thread->switches_known)
		printf(" %9llu %9llu", (unsigned long long)times->voluntary,
		       (unsigned long long)times->forced);
	else
		printf(" %9s %9s", "-", "-");
}

static void print_reservation(const struct reservation *given)
{
	if (given->runtime_ns)
		printf(" (%.3f of each %.3f ms, within %.3f ms)",
		       (double)given->runtime_ns / (double)NSEC_PER_MSEC,
		       (double)given->period_ns / (double)NSEC_PER_MSEC,
		       (double)given->deadline_ns / (double)NSEC_PER_MSEC);
}

static void print_thread(const struct thread *thread, uint64_t since_ns)
{
	const struct thread_times *times = since_ns ? &thread->since : &thread->times;
	const char *policy = thread_policy_name(thread);

	printf("%7d %7d %-8s", thread->pid, thread->tid, policy ? policy : "?");
	print_priority(thread);
	if (thread_is_realtime(thread))
		printf(" %3s", "-");
	else
		printf(" %3d", thread->nice);
	printf(" %-9s %3d %c %13.3f", thread->cpus ? thread->cpus : "-", thread->cpu, thread->state,
	       (double)times->cpu_ns / (double)NSEC_PER_MSEC);
	print_switches(thread, times);
	print_serves(thread);
	printf(" %-24s ", *thread->wait_channel ? thread->wait_channel : "-");
	print_text(thread->name);
	print_reservation(&thread->given);
	putchar('\n');
}

static bool is_shown(const struct thread *thread, bool all)
{
	return all || thread->isolated || thread_is_realtime(thread);
}

void threads_print(const struct thread_list *list, bool all, uint64_t since_ns)
{
	size_t shown = 0;

	for (size_t i = 0; i < list->count; i++)
		shown += is_shown(&list->thread[i], all);
	print_head(list, shown, since_ns);
	for (size_t i = 0; i < list->count; i++) {
		if (is_shown(&list->thread[i], all))
			print_thread(&list->thread[i], since_ns);
	}
	fflush(stdout);
}
