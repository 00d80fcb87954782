// SPDX-License-Identifier: GPL-2.0-only
/* Sets of CPUs as the kernel writes them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpulist.h"

#define MASK_WORD_BITS 32

static bool read_number(const char **text, unsigned long *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*number = strtoul(*text, &end, 10);
	*text = end;
	return *number < CPUS_MAX;
}

bool cpulist_parse(const char *text, cpu_set_t *cpus)
{
	unsigned long first, last;

	CPU_ZERO(cpus);
	if (!*text || *text == '\n')
		return true;
	for (;; text++) {
		if (!read_number(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!read_number(&text, &last) || last < first)
				return false;
		}
		for (; first <= last; first++)
			CPU_SET(first, cpus);
		if (*text != ',')
			return !*text || *text == '\n';
	}
}

void cpulist_format(const cpu_set_t *cpus, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (int cpu = 0; cpu < CPUS_MAX && used < size; cpu++) {
		int first = cpu;

		if (!CPU_ISSET(cpu, cpus))
			continue;
		while (cpu + 1 < CPUS_MAX && CPU_ISSET(cpu + 1, cpus))
			cpu++;
		used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "", first);
		if (cpu > first && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%d", cpu);
	}
}

bool cpulist_parse_mask(const char *text, cpu_set_t *cpus)
{
	size_t length = strcspn(text, "\n"), bit = 0;

	CPU_ZERO(cpus);
	while (length--) {
		char digit[2] = { text[length] }, *end;
		unsigned long four = strtoul(digit, &end, 16);

		if (*digit == ',' && length && bit && bit % MASK_WORD_BITS == 0 &&
		    text[length - 1] != ',')
			continue;
		if (end == digit)
			return false;
		for (int i = 0; i < 4; i++, bit++) {
			if (!(four >> i & 1))
				continue;
			if (bit >= CPUS_MAX)
				return false;
			CPU_SET(bit, cpus);
		}
	}
	return bit;
}

void cpulist_format_mask(const cpu_set_t *cpus, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (int word = CPUS_MAX / MASK_WORD_BITS - 1; word >= 0 && used < size; word--) {
		uint32_t bits = 0;

		for (int i = 0; i < MASK_WORD_BITS; i++)
			bits |= (uint32_t)!!CPU_ISSET(word * MASK_WORD_BITS + i, cpus) << i;
		if (bits || used || !word)
			used += (size_t)snprintf(text + used, size - used, used ? ",%08x" : "%x",
						 bits);
	}
}

void cpulist_less(cpu_set_t *cpus, const cpu_set_t *away)
{
	cpu_set_t common;

	CPU_AND(&common, cpus, away);
	CPU_XOR(cpus, cpus, &common);
}

bool cpulist_have(const cpu_set_t *cpus, const cpu_set_t *part)
{
	cpu_set_t common;

	CPU_AND(&common, cpus, part);
	return CPU_EQUAL(&common, part);
}
