/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of a set of loads: loads.c parses it, supervisor.c supervises it and
 * group.c runs it.
 *
 * The processes of a set:
 *
 *	agent			holds the only writing end of a pipe, the lifeline
 *	  supervisor		ends the loads and cleans up when the lifeline is cut
 *	    group leader	first process of a PID namespace of its own; the same
 *	      worker ...	every load's workers, and what they start
 */
#ifndef RTSCOPE_LOAD_SET_H
#define RTSCOPE_LOAD_SET_H

#include <limits.h>
#include <sys/types.h>

#include "load/worker.h"

/* One load of a set. */
struct part {
	const struct load *load;
	char *argument; /* NULL but for external loads */
	char *name;	/* as the user wrote it */
	unsigned int strength;
	unsigned int first_line; /* of its workers' */
	bool optional;		 /* of mixed: left out where it cannot run */
	bool left_out;
};

/* What all processes of a set share. */
struct shared {
	struct message failure;	    /* of supervisor or leader */
	struct message containment; /* why there is no PID namespace */
	struct message priority;    /* why the loads do not run at nice 0 */
	_Atomic pid_t leader;
	struct load_status status[LOADS_MAX];
	struct worker_line line[];
};

struct load_set {
	uint64_t seed;
	struct cpus cpus; /* those it keeps to; none: all */
	unsigned int size;
	struct part part[LOADS_MAX];
	unsigned int lines;
	struct shared *shared;
	size_t shared_size;
	pid_t supervisor;
	int lifeline; /* writing end; -1 when nothing runs */
	int lock;     /* on the scratch directory; -1 when there is none */
	char scratch[PATH_MAX];
	int was_subreaper; /* the agent, before it had loads */
};

/*
 * Make a directory that only this user can enter, locked for as long as a
 * process holds set->lock; and remove those of others that died. Returns 0, or -1
 * with a sentence.
 */
int scratch_make(struct load_set *set, char *error, size_t error_size);
/* Remove the directory with its contents, if it is still there. */
void scratch_remove(const struct load_set *set);

/* Reading ends of two pipes: end of file means that the agent or the supervisor has ended. */
struct lifelines {
	int agent, supervisor;
};

/*
 * Fork the group leader into a PID namespace, or without one if the kernel gives none; it closes
 * @supervisor_end. Returns its process id, or -1.
 */
pid_t group_fork(struct load_set *set, const struct lifelines *lifelines, int supervisor_end,
		 bool *contained);

/* Kill and reap the children of this process, and the orphans it gets, for @timeout_ns. */
void children_kill(bool contained, uint64_t timeout_ns);

/* Wait for SIGCHLD, the end of file of one of @fds (then true), or @timeout_ns (0: for ever). */
bool wait_for_end(const int *fds, unsigned int count, uint64_t timeout_ns);

#endif
