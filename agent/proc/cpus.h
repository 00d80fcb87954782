/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs that can be measured.
 *
 * The caller's own affinity says too little: it leaves out isolated CPUs,
 * and a cpuset may forbid more. So the kernel is asked, CPU by CPU, whether
 * a thread may run there.
 */
#ifndef RTSCOPE_CPUS_H
#define RTSCOPE_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"

struct cpus {
	unsigned int count;
	uint16_t number[CPUS_MAX]; /* ascending */
};

/* Read "0-3,8", or "all" or "first" of @usable. Returns 0, or -1 with a sentence in @error. */
int cpus_parse(const char *text, const struct cpus *usable, struct cpus *cpus, char *error,
	       size_t error_size);

/* Every CPU that a thread of this process may be moved to. */
void cpus_usable(struct cpus *cpus);

/* The CPUs that are online; CPU 0 if the kernel does not say. */
void cpus_online(cpu_set_t *cpus);

/* The same of the system whose root directory is the open folder @root. */
void cpus_online_below(int root, cpu_set_t *cpus);

/* Whether @text is a list of CPUs of which none is online. */
bool cpus_unplugged(const char *text);

/*
 * Remove @away from @cpus, for a thread that may use @cpus and has to leave @away. If nothing is
 * left, @cpus becomes every other CPU that is online.
 */
void cpus_leave(cpu_set_t *cpus, const cpu_set_t *away);

/* Allow the calling thread on @cpu only. Returns 0 or -1 with errno. */
int cpus_pin(unsigned int cpu);

/* Allow the calling thread on @cpus only. Returns 0 or -1 with errno. */
int cpus_allow(const struct cpus *cpus);

/* Allow the calling thread on every CPU that the machine lets it have. */
void cpus_unpin(void);

/* Keep the calling thread off @busy where @usable has another CPU; whether it has. */
bool cpus_avoid(const struct cpus *usable, const struct cpus *busy);

#endif
