/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of CPUs as the kernel writes them: lists such as "0-3,8", and masks in hexadecimal. */
#ifndef RTSCOPE_CPULIST_H
#define RTSCOPE_CPULIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPULIST_SIZE 4096 /* of the longest list or mask */

/* Read a list; one that is empty is no CPU. False where @text is none, or names CPUs from 1024 on. */
bool cpulist_parse(const char *text, cpu_set_t *cpus);
void cpulist_format(const cpu_set_t *cpus, char *text, size_t size);

/* The same of a mask such as "ff,ffffffff". */
bool cpulist_parse_mask(const char *text, cpu_set_t *cpus);
void cpulist_format_mask(const cpu_set_t *cpus, char *text, size_t size);

/* Those that are online; CPU 0 where the kernel does not tell. */
void cpulist_online(cpu_set_t *cpus);
/* Whether @text is a list of CPUs none of which is online. */
bool cpulist_unplugged(const char *text);

/* Take @away from @cpus. */
void cpulist_less(cpu_set_t *cpus, const cpu_set_t *away);

/* Whether @part, all of it, is in @cpus. */
bool cpulist_have(const cpu_set_t *cpus, const cpu_set_t *part);

/*
 * Where who may use @cpus goes when it has to leave @away: what is left of them, or else every
 * other CPU that is online.
 */
void cpulist_leave(cpu_set_t *cpus, const cpu_set_t *away);

#endif
