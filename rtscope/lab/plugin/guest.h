/* SPDX-License-Identifier: GPL-2.0-only */
/* What the emulator can tell of the state of its guest. */
#ifndef RTSCOPE_GUEST_H
#define RTSCOPE_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of a block of instructions. */
enum {
	HALTS = 1,	 /* it ends by waiting for an interrupt */
	READS_CLOCK = 2, /* it ends by reading the time */
	INTERRUPTS_OFF = 4,
	INTERRUPTS_KNOWN = 8,
	PREEMPT_KNOWN = 16,
};

struct guest_state {
	uint64_t task; /* 0: not known */
	uint64_t stack_pointer;
	uint32_t preempt;
	uint32_t flags;
};

/* Where the guest's kernel keeps who runs; 0, or all ones: not known. */
extern struct guest_places {
	uint64_t offsets;	  /* __per_cpu_offset */
	uint64_t current;	  /* per-CPU pointer to the running task */
	uint64_t preempt;	  /* per-CPU count that forbids preemption */
	uint64_t preempt_in_task; /* or where that count is in a task */
} guest_places;

/* Whether this architecture, as QEMU names it, is known. */
bool guest_open(const char *architecture);

/* To be called now and then: follows what moves during the boot. */
void guest_follow(uint64_t address);

/* The flags that a block has which ends with this instruction. */
uint32_t guest_block_flags(const uint8_t *insn, size_t size);

/* What holds where the block at @address begins. */
void guest_observe(uint64_t address, struct guest_state *state);

bool guest_in_kernel(uint64_t address);
bool guest_read(uint64_t address, void *data, size_t size);

#endif
