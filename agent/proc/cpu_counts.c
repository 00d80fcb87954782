// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often the thread on a CPU was interrupted or preempted.
 *
 * In /proc/interrupts the lines of devices have a number; the CPU's own timer and
 * calls from other CPUs have names. In /proc/schedstat the last number of a CPU
 * counts switches, if the kernel has CONFIG_SCHEDSTATS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/cpu_counts.h"

#define LINE_SIZE (16 << 10) /* 1024 CPUs of 11 characters, and a name */
#define PCOUNT	  9	     /* its place after the name, from 1 */

static char line[LINE_SIZE];

/* The column, from 0, of @cpu in the head "CPU0 CPU2"; -1 where it is offline. */
static int find_column(char *head, unsigned int cpu)
{
	int column = 0;

	for (char *word = strtok(head, " \n"); word; word = strtok(NULL, " \n"), column++) {
		if (!strncmp(word, "CPU", 3) && strtoul(word + 3, NULL, 10) == cpu)
			return column;
	}
	return -1;
}

static uint64_t figure(const char *text, int index)
{
	char *end;

	for (; index; index--) {
		strtoull(text, &end, 10);
		if (end == text)
			return 0;
		text = end;
	}
	return strtoull(text, NULL, 10);
}

static uint64_t read_interrupts(unsigned int cpu)
{
	FILE *file = fopen("/proc/interrupts", "re");
	uint64_t sum = 0;
	int column = -1;

	if (file && fgets(line, sizeof(line), file))
		column = find_column(line, cpu);
	while (column >= 0 && fgets(line, sizeof(line), file)) {
		char *end;

		strtoul(line, &end, 10);
		if (end != line && *end == ':')
			sum += figure(end + 1, column);
	}
	if (file)
		fclose(file);
	return sum;
}

static bool read_switches(unsigned int cpu, uint64_t *switches)
{
	FILE *file = fopen("/proc/schedstat", "re");
	char name[16];
	bool found = false;
	size_t length;

	snprintf(name, sizeof(name), "cpu%u ", cpu);
	length = strlen(name);
	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, name, length);
		if (found)
			*switches = figure(line + length, PCOUNT - 1);
	}
	if (file)
		fclose(file);
	return found;
}

void cpu_counts_read(unsigned int cpu, struct cpu_counts *counts)
{
	counts->device_interrupts = read_interrupts(cpu);
	counts->switches_known = read_switches(cpu, &counts->switches);
}
