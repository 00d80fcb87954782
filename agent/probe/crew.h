/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A crew: threads, one a CPU, that work together when they are told to.
 *
 * A conductor gives some of them a job each. They prepare, wait for each other,
 * and count what they do for the length of a slot; who is done goes on working,
 * uncounted, until all are, so that each was beside the others for the whole of its
 * count; beside one who takes several slots' time he sleeps now and then. Between slots all
 * sleep on a futex, for a fifth of the time: everything else has that, which real-time
 * threads would keep from these CPUs, and the kernel does not throttle them.
 *
 * Somebody whose job is crew_hold() keeps his CPU awake, at its frequency and from
 * other programs, and leaves what it may share with others to these.
 */
#ifndef RTSCOPE_CREW_H
#define RTSCOPE_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define CREW_SAMPLES_MAX 99

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
#define CREW_SLOT(default_text, target)       \
	{ .name = "slot",                     \
	  .kind = OPTION_TIME,                \
	  .min = NSEC_PER_MSEC,               \
	  .max = NSEC_PER_SEC,                \
	  .preset = default_text,             \
	  .help = "Count each work for TIME", \
	  .value = &(target) }

/* Whether a crew can measure @probe so: 0, or -1 with a sentence in @error. */
int crew_check(const char *probe, const struct session_options *session, char *error,
	       size_t error_size);

/* The roles of a member on each CPU and, after them, of the conductor; returns how many. */
int crew_roles(const struct session_options *session, const struct cpus *cpus,
	       void (*conduct)(struct measuring *measuring), struct role *roles);

/* Prepare for @count members; 0, or -1 where memory is short. */
int crew_init(unsigned int count);

/* @conductor's thread is the one that has the crew work. */
void crew_lead(const struct measuring *conductor);

struct member *crew_member(unsigned int index);

/* The body of a member's thread: the crew's first threads are the session's first. */
void crew_serve(struct measuring *measuring);

/*
 * Have the @count members of these indices do their jobs for @slot_ns. False when measuring is to
 * end: what they did is then worth nothing.
 */
bool crew_work(const unsigned int *index, unsigned int count, uint64_t slot_ns);

/* What the member did a second in the slot that was last. */
double crew_rate(unsigned int index);

/* Let all members' threads end, @completed as it was asked or not. */
void crew_dismiss(bool completed);

/* Whether a member that waits for another within its work is to give up. */
bool crew_is_over(void);

extern const struct job crew_hold;

/* Let a moment pass without use of what hardware threads share. */
static inline void crew_relax(void)
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
