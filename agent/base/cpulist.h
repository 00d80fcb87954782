/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of CPUs as the kernel writes them: lists such as "0-3,8", and masks in hexadecimal. */
#ifndef RTSCOPE_CPULIST_H
#define RTSCOPE_CPULIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPUS_MAX     1024
#define CPULIST_SIZE 4096 /* of the longest list or mask */

/* Read a list; one that is empty is no CPU. False where @text is none, or names CPUs from 1024 on. */
bool cpulist_parse(const char *text, cpu_set_t *cpus);
void cpulist_format(const cpu_set_t *cpus, char *text, size_t size);

/* The same of a mask such as "ff,ffffffff": after a comma stand exactly eight digits. */
bool cpulist_parse_mask(const char *text, cpu_set_t *cpus);
void cpulist_format_mask(const cpu_set_t *cpus, char *text, size_t size);

/* Take @away from @cpus. */
void cpulist_less(cpu_set_t *cpus, const cpu_set_t *away);

/* Whether @part, all of it, is in @cpus. */
bool cpulist_have(const cpu_set_t *cpus, const cpu_set_t *part);

#endif
