// SPDX-License-Identifier: GPL-2.0-only
/* The CPUs that can be measured, as the kernel grants them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/cpus.h"
#include "proc/partition.h"

#define ONLINE "sys/devices/system/cpu/online"

int cpus_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	return errno == EINVAL && partition_join(cpu) ? sched_setaffinity(0, sizeof(set), &set) :
							-1;
}

int cpus_allow(const struct cpus *cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned int i = 0; i < cpus->count; i++)
		CPU_SET(cpus->number[i], &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

void cpus_unpin(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Of all CPUs the kernel grants a thread those that its cpuset has, isolated ones among them; a
 * partition has others, which a thread can join.
 */
void cpus_usable(struct cpus *cpus)
{
	cpu_set_t before, granted, apart;

	cpus->count = 0;
	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	cpus_unpin();
	if (sched_getaffinity(0, sizeof(granted), &granted))
		granted = before;
	partition_cpus(&apart);
	CPU_OR(&granted, &granted, &apart);
	sched_setaffinity(0, sizeof(before), &before);
	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (CPU_ISSET(cpu, &granted))
			cpus->number[cpus->count++] = (uint16_t)cpu;
	}
}

static bool contains(const struct cpus *cpus, unsigned int cpu)
{
	for (unsigned int i = 0; i < cpus->count; i++) {
		if (cpus->number[i] == cpu)
			return true;
	}
	return false;
}

bool cpus_avoid(const struct cpus *usable, const struct cpus *busy)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned int i = 0; i < usable->count; i++) {
		if (!contains(busy, usable->number[i]))
			CPU_SET(usable->number[i], &set);
	}
	return CPU_COUNT(&set) && sched_setaffinity(0, sizeof(set), &set) == 0;
}

int cpus_parse(const char *text, const struct cpus *usable, struct cpus *cpus, char *error,
	       size_t error_size)
{
	cpu_set_t wanted;

	if (!strcmp(text, "all")) {
		*cpus = *usable;
		return 0;
	}
	if (!strcmp(text, "first")) {
		cpus->count = usable->count ? 1 : 0;
		cpus->number[0] = usable->number[0];
		return 0;
	}
	if (!*text || strchr(text, '\n') || !cpulist_parse(text, &wanted)) {
		snprintf(error, error_size,
			 "'%s' is not a CPU list: write numbers below %d such as 0-3,8, or first or all",
			 text, CPUS_MAX);
		return -1;
	}

	cpus->count = 0;
	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!CPU_ISSET(cpu, &wanted))
			continue;
		if (!contains(usable, cpu)) {
			snprintf(error, error_size,
				 "CPU %u cannot be measured: it is offline, absent or outside this process's cpuset; see /sys/devices/system/cpu/online and /proc/self/cgroup",
				 cpu);
			return -1;
		}
		cpus->number[cpus->count++] = (uint16_t)cpu;
	}
	return 0;
}

static void read_online(int root, const char *path, cpu_set_t *cpus)
{
	char text[CPULIST_SIZE];

	if (file_text(root, path, text, sizeof(text)) && cpulist_parse(text, cpus) &&
	    CPU_COUNT(cpus))
		return;
	CPU_ZERO(cpus);
	CPU_SET(0, cpus);
}

void cpus_online(cpu_set_t *cpus)
{
	read_online(AT_FDCWD, "/" ONLINE, cpus);
}

void cpus_online_below(int root, cpu_set_t *cpus)
{
	read_online(root, ONLINE, cpus);
}

bool cpus_unplugged(const char *text)
{
	cpu_set_t cpus, online;

	cpus_online(&online);
	if (!cpulist_parse(text, &cpus))
		return false;
	CPU_AND(&online, &online, &cpus);
	return !CPU_COUNT(&online);
}

void cpus_leave(cpu_set_t *cpus, const cpu_set_t *away)
{
	cpu_set_t online, left = *cpus;

	cpus_online(&online);
	cpulist_less(&online, away);
	cpulist_less(&left, away);
	*cpus = left;
	CPU_AND(&left, cpus, &online);
	if (!CPU_COUNT(&left))
		*cpus = online;
}
