// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU's that remembers what the guest has just executed.
 *
 * Each block of instructions leaves one entry in a ring: its address, how many
 * instructions came before it, which task ran, its stack pointer, and whether
 * interrupts and preemption were off. When the guest calls one function for the
 * n-th time, what led there is written to a file (rtscope/explain/recording.py
 * reads it). The guest cannot tell: no instruction is added and none takes
 * longer in virtual time.
 *
 * Instructions are counted one by one. A block that an access to a device or a
 * fault cuts short has not executed as many as it holds, and is begun again.
 *
 *	notice=ADDRESS		the function whose calls are counted, from 1
 *	wanted=NUMBER:COUNT	write the COUNT instructions before this call; many may be given
 *	ring=ENTRIES		a power of two
 *	output=FILE
 *	offsets=ADDRESS		the kernel's __per_cpu_offset
 *	current=ADDRESS		its per-CPU pointer to the running task
 *	preempt=ADDRESS		its per-CPU count that forbids preemption
 *	preempt_in_task=OFFSET	or where that count is in a task
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "qemu.h"

EXPORTED int qemu_plugin_version = 1;

/* The file: a head, then for each call that was wanted a struct call, its entries and its tasks. */
#define MAGIC	   "rtscope record 1"
#define WANTED_MAX 64
#define TASKS_MAX  256
#define TASK_SIZE  8192
#define SLACK	   20000 /* instructions between reading the clock and telling what it read */

struct entry {
	uint64_t address;
	uint64_t before; /* instructions executed before this block */
	struct guest_state state;
};

struct call {
	uint64_t number;
	uint64_t instructions; /* executed before it */
	uint64_t entries;
	uint64_t tasks;
};

struct task {
	uint64_t address;
	uint8_t memory[TASK_SIZE];
};

static uint64_t notice;
static struct {
	uint64_t number, instructions;
} wanted[WANTED_MAX];
static unsigned int wanted_count;
static struct entry *ring;
static uint64_t ring_size = 1 << 16, ring_used;
static uint64_t instructions, calls;
static FILE *file;

/*
 * A call that was wanted is written a little later: where a kernel hides its memory from user space,
 * its tasks can only be read when it runs.
 */
#define PATIENCE 4096 /* blocks */
static struct {
	bool wanted;
	uint64_t back;				  /* instructions to write before it */
	uint64_t ring_used, instructions, number; /* when it came */
} pending;

static bool kernel_was_seen, user_was_seen; /* in this order: firmware is neither */

static void put(const void *data, size_t size)
{
	if (file && fwrite(data, 1, size, file) != size) {
		fprintf(stderr, "rtscope's plugin cannot write what it saw: disk full?\n");
		fclose(file);
		file = NULL;
	}
}

static const struct entry *entry_at(uint64_t index)
{
	return &ring[index & (ring_size - 1)];
}

static uint64_t first_entry(uint64_t since)
{
	uint64_t oldest = ring_used > ring_size ? ring_used - ring_size : 0;
	uint64_t first = pending.ring_used;

	while (first > oldest && entry_at(first - 1)->before >= since)
		first--;
	return first > oldest ? first - 1 : first;
}

static uint64_t tasks_since(uint64_t first, uint64_t *tasks)
{
	uint64_t count = 0, known;

	for (uint64_t i = first; i < pending.ring_used; i++) {
		uint64_t task = entry_at(i)->state.task;

		for (known = 0; known < count && tasks[known] != task; known++)
			;
		if (task && known == count && count < TASKS_MAX)
			tasks[count++] = task;
	}
	return count;
}

static void write_pending(void)
{
	uint64_t since = pending.instructions - pending.back - SLACK;
	uint64_t first = first_entry(since < pending.instructions ? since : 0);
	static uint64_t tasks[TASKS_MAX];
	static struct task task;
	struct call call = {
		.number = pending.number,
		.instructions = pending.instructions,
		.entries = pending.ring_used - first,
		.tasks = tasks_since(first, tasks),
	};

	pending.wanted = false;
	put(&call, sizeof(call));
	for (uint64_t i = first; i < pending.ring_used; i++)
		put(entry_at(i), sizeof(*ring));
	for (uint64_t i = 0; i < call.tasks; i++) {
		memset(&task, 0, sizeof(task));
		task.address = tasks[i];
		guest_read(task.address, task.memory, sizeof(task.memory));
		put(&task, sizeof(task));
	}
	if (file)
		fflush(file);
}

static bool tasks_can_be_read(void)
{
	uint64_t task = entry_at(pending.ring_used - 1)->state.task, first;

	return !task || guest_read(task, &first, sizeof(first));
}

static void on_block(uint64_t address, uint32_t flags)
{
	struct entry *entry;

	if (pending.wanted && ((guest_in_kernel(address) && tasks_can_be_read()) ||
			       ring_used - pending.ring_used > PATIENCE))
		write_pending();
	if (!user_was_seen) /* the boot explains nothing, and looking at all of it takes long */
		return;
	entry = &ring[ring_used++ & (ring_size - 1)];
	*entry = (struct entry){
		.address = address,
		.before = instructions,
		.state.flags = flags,
	};
	guest_observe(address, &entry->state);
}

static void on_plain_block(unsigned int index, void *address)
{
	(void)index;
	on_block((uintptr_t)address, 0);
}

static void on_halting_block(unsigned int index, void *address)
{
	(void)index;
	on_block((uintptr_t)address, HALTS);
}

static void on_clock_block(unsigned int index, void *address)
{
	(void)index;
	on_block((uintptr_t)address, READS_CLOCK);
}

static void on_call(unsigned int index, void *data)
{
	(void)index;
	(void)data;
	if (pending.wanted)
		write_pending();
	calls++;
	for (unsigned int i = 0; i < wanted_count; i++) {
		if (wanted[i].number != calls)
			continue;
		pending.wanted = true;
		pending.back = wanted[i].instructions;
		pending.ring_used = ring_used;
		pending.instructions = instructions;
		pending.number = calls;
	}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn = NULL;
	uint32_t flags = 0;

	(void)id;
	guest_follow(address);
	kernel_was_seen |= guest_in_kernel(address);
	user_was_seen |= kernel_was_seen && !guest_in_kernel(address);
	for (size_t i = 0; i < count; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (notice && qemu_plugin_insn_vaddr(insn) == notice)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_call,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   &instructions, 1);
	}
	if (insn)
		flags = guest_block_flags(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
	qemu_plugin_register_vcpu_tb_exec_cb(tb,
					     flags & HALTS	 ? on_halting_block :
					     flags & READS_CLOCK ? on_clock_block :
								   on_plain_block,
					     QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)address);
}

static int refuse(const char *what)
{
	fprintf(stderr, "rtscope's plugin: %s\n", what);
	return -1;
}

static bool take_wanted(const char *value)
{
	char *rest;

	if (wanted_count == WANTED_MAX)
		return false;
	wanted[wanted_count].number = strtoull(value, &rest, 0);
	if (*rest != ':')
		return false;
	wanted[wanted_count++].instructions = strtoull(rest + 1, &rest, 0);
	return !*rest;
}

static bool take_argument(const char *argument)
{
	const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "notice=", &notice },
		{ "ring=", &ring_size },
		{ "offsets=", &guest_places.offsets },
		{ "current=", &guest_places.current },
		{ "preempt=", &guest_places.preempt },
		{ "preempt_in_task=", &guest_places.preempt_in_task },
	};

	if (!strncmp(argument, "wanted=", 7))
		return take_wanted(argument + 7);
	if (!strncmp(argument, "output=", 7)) {
		file = fopen(argument + 7, "wbe");
		return file;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t length = strlen(numbers[i].name);
		char *rest;

		if (strncmp(argument, numbers[i].name, length))
			continue;
		*numbers[i].value = strtoull(argument + length, &rest, 0);
		return !*rest;
	}
	return false;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
				 char **argv)
{
	char text[200];

	if (!guest_open(info->target_name))
		return refuse("this architecture is not known to it");
	for (int i = 0; i < argc; i++) {
		if (take_argument(argv[i]))
			continue;
		snprintf(text, sizeof(text), "'%s' cannot be used", argv[i]);
		return refuse(text);
	}
	if (!file || !ring_size || ring_size & (ring_size - 1))
		return refuse("it needs a file, and a ring that is a power of two");
	ring = calloc(ring_size, sizeof(*ring));
	if (!ring)
		return refuse("out of memory");
	put(MAGIC, strlen(MAGIC));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
