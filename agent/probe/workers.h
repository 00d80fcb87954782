/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Worker threads, one per CPU, that work at the same time on request.
 *
 * A coordinator gives some of them a job each. They prepare, wait for each other, and count their
 * work for the length of a slot. A worker that is done continues, uncounted, until all are done, so
 * that the others were active during its whole count; during a job that takes several slots it
 * sleeps now and then. Between slots all workers sleep on a futex, for a fifth of the time. Other
 * tasks, which real-time threads would starve on these CPUs, get that time, and the kernel does not
 * throttle the workers.
 *
 * A worker with the job workers_hold() keeps its CPU awake, at its frequency and free of other
 * programs, and leaves shared resources to the others.
 */
#ifndef RTSCOPE_WORKERS_H
#define RTSCOPE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define WORKERS_SAMPLES_MAX 99

struct member;

struct job {
	void (*prepare)(struct member *member, void *context); /* may be NULL */
	/* A piece of work of some microseconds; returns how much of it was done, in any unit. */
	uint64_t (*work)(struct member *member, void *context);
	void *context;
};

struct member {
	struct job job;
	uint64_t done;	  /* in the slot that was last, */
	uint64_t wall_ns; /* in this time */
	uint32_t order;	  /* the futex: which slot it is to work in */
	struct measuring *measuring;
} __attribute__((aligned(128)));

/* The option of a probe whose work is counted in slots. */
#define WORKERS_SLOT(default_text, target)    \
	{ .name = "slot",                     \
	  .kind = OPTION_TIME,                \
	  .min = NSEC_PER_MSEC,               \
	  .max = NSEC_PER_SEC,                \
	  .preset = default_text,             \
	  .help = "Count each work for TIME", \
	  .value = &(target) }

/* Check that workers can measure @probe. Returns 0, or -1 with a message in @error. */
int workers_check(const char *probe, const struct session_options *session, char *error,
		  size_t error_size);

/* The roles of a member on each CPU and, after them, of the coordinator; returns how many. */
int workers_roles(const struct session_options *session, const struct cpus *cpus,
		  void (*conduct)(struct measuring *measuring), struct role *roles);

/* Prepare for @count members; 0, or -1 where memory is short. */
int workers_init(unsigned int count);

/* The thread of @coordinator coordinates the workers. */
void workers_lead(const struct measuring *coordinator);

struct member *workers_member(unsigned int index);

/* The body of a worker thread; they are the first threads of the session. */
void workers_serve(struct measuring *measuring);

/*
 * Have the @count members of these indices do their jobs for @slot_ns. False when measuring is to
 * end: what they did is then worth nothing.
 */
bool workers_work(const unsigned int *index, unsigned int count, uint64_t slot_ns);

/* What the member did a second in the slot that was last. */
double workers_rate(unsigned int index);

/* Let all members' threads end, @completed as it was asked or not. */
void workers_dismiss(bool completed);

/* Whether a member that waits for another within its work is to give up. */
bool workers_is_over(void);

extern const struct job workers_hold;

/* Let a moment pass without use of what hardware threads share. */
static inline void workers_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#elif defined(__powerpc64__)
	__asm__ volatile("or 1,1,1; or 2,2,2" : : : "memory");
#elif defined(__riscv)
	__asm__ volatile(".word 0x0100000f" : : : "memory"); /* pause, a hint */
#else
	__asm__ volatile("nop; nop; nop; nop" : : : "memory");
#endif
}

#endif
