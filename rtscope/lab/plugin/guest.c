// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's registers and memory.
 *
 * The plugin interface shows neither, but the emulator's own functions do,
 * where its program exports them, as those of distributions do: they are looked
 * up by name, and what they would have told is left out where they are missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "guest.h"

/* What is used of the emulator itself, where it can be found. */
struct byte_array { /* GLib's */
	uint8_t *data;
	unsigned int size;
};

static struct {
	void *(*qemu_get_cpu)(int index);
	int (*cpu_memory_rw_debug)(void *cpu, uint64_t address, void *data, uint64_t size,
				   bool write);
	uint64_t (*cpu_get_phys_page_debug)(void *cpu, uint64_t address);
	void *(*cpu_physical_memory_map)(uint64_t address, uint64_t *size, bool write);
	struct byte_array *(*g_byte_array_new)(void);
	int (*read_register)(void *cpu, struct byte_array *bytes, int number);
} emulator;

/* What differs between architectures; registers as GDB numbers them, -1: none. */
struct architecture {
	const char *name, *reader;
	int stack_pointer, current, flags;
	uint32_t interrupts; /* the bit of the flags */
	bool bit_forbids;    /* set: interrupts are off */
	bool (*reads_clock)(const uint8_t *insn, size_t size);
	bool (*halts)(const uint8_t *insn, size_t size);
};

static bool x86_reads_clock(const uint8_t *insn, size_t size)
{
	return (size == 2 && insn[0] == 0x0f && insn[1] == 0x31) ||		     /* rdtsc */
	       (size == 3 && insn[0] == 0x0f && insn[1] == 0x01 && insn[2] == 0xf9); /* rdtscp */
}

static bool x86_halts(const uint8_t *insn, size_t size)
{
	return (size == 1 && insn[0] == 0xf4) ||				     /* hlt */
	       (size == 3 && insn[0] == 0x0f && insn[1] == 0x01 && insn[2] == 0xc9); /* mwait */
}

static uint32_t word(const uint8_t *insn, size_t size)
{
	return size == 4 ? insn[0] | insn[1] << 8 | insn[2] << 16 | (uint32_t)insn[3] << 24 : 0;
}

static bool arm_reads_clock(const uint8_t *insn, size_t size)
{
	uint32_t code = word(insn, size) & ~0x1fU;

	return code == 0xd53be040 || code == 0xd53be0c0; /* mrs of cntvct_el0, cntvctss_el0 */
}

static bool arm_halts(const uint8_t *insn, size_t size)
{
	return word(insn, size) == 0xd503207f; /* wfi */
}

static bool riscv_reads_clock(const uint8_t *insn, size_t size)
{
	return (word(insn, size) & ~0xf80U) == 0xc0102073; /* rdtime */
}

static bool riscv_halts(const uint8_t *insn, size_t size)
{
	return word(insn, size) == 0x10500073; /* wfi */
}

static const struct architecture architectures[] = {
	{ "x86_64", "x86_cpu_gdb_read_register", 7, -1, 17, 0x200, false, x86_reads_clock,
	  x86_halts },
	{ "aarch64", "aarch64_cpu_gdb_read_register", 31, -1, 33, 0x80, true, arm_reads_clock,
	  arm_halts },
	{ "riscv64", "riscv_cpu_gdb_read_register", 2, 4, -1, 0, false, riscv_reads_clock,
	  riscv_halts },
};

static const struct architecture *architecture;
static void *cpu;		     /* the emulator's only one */
static const uint64_t *current_task; /* in the guest's memory */
static const uint32_t *preempt_count;

struct guest_places guest_places = { .preempt_in_task = UINT64_MAX };

bool guest_read(uint64_t address, void *data, size_t size)
{
	return cpu && emulator.cpu_memory_rw_debug &&
	       !emulator.cpu_memory_rw_debug(cpu, address, data, size, false);
}

/* Where the emulator keeps this byte of the guest; valid as long as the guest leaves it mapped there. */
static const void *guest_memory(uint64_t address)
{
	uint64_t page, size = 8;

	if (!cpu || !emulator.cpu_get_phys_page_debug || !emulator.cpu_physical_memory_map)
		return NULL;
	page = emulator.cpu_get_phys_page_debug(cpu, address & ~0xfffULL);
	if (page == UINT64_MAX)
		return NULL;
	return emulator.cpu_physical_memory_map(page | (address & 0xfff), &size, false);
}

static uint64_t read_register(int number)
{
	static struct byte_array *bytes;
	uint64_t value = 0;

	if (!bytes)
		bytes = emulator.g_byte_array_new();
	bytes->size = 0;
	emulator.read_register(cpu, bytes, number);
	memcpy(&value, bytes->data, bytes->size < sizeof(value) ? bytes->size : sizeof(value));
	return value;
}

bool guest_in_kernel(uint64_t address)
{
	return address >> 63;
}

/* Per-CPU memory moves to its lasting place during the boot: looked at now and then. */
static void find_running_task(void)
{
	static uint64_t offset_before;
	uint64_t offset;

	if (!guest_places.offsets || !guest_read(guest_places.offsets, &offset, sizeof(offset)) ||
	    offset == offset_before)
		return;
	offset_before = offset;
	current_task = guest_places.current ? guest_memory(guest_places.current + offset) : NULL;
	preempt_count = guest_places.preempt ? guest_memory(guest_places.preempt + offset) : NULL;
}

/* In user space, and where the kernel has just been entered, the register is the program's. */
static uint64_t task_in_register(uint64_t address)
{
	static uint64_t task;
	uint64_t value;

	if (!guest_in_kernel(address))
		return task;
	value = read_register(architecture->current);
	if (guest_in_kernel(value))
		task = value;
	return task;
}

static void observe_task(uint64_t address, struct guest_state *state)
{
	static uint64_t task_before;
	static const uint32_t *count_before;

	if (current_task)
		state->task = *current_task;
	else if (cpu && emulator.read_register && architecture->current >= 0)
		state->task = task_in_register(address);
	if (guest_places.preempt_in_task != UINT64_MAX && state->task) {
		if (state->task != task_before)
			count_before = guest_memory(state->task + guest_places.preempt_in_task);
		task_before = state->task;
		preempt_count = count_before;
	}
	if (preempt_count) {
		state->preempt = *preempt_count;
		state->flags |= PREEMPT_KNOWN;
	}
}

static void find_emulator(void)
{
	*(void **)&emulator.qemu_get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	*(void **)&emulator.cpu_memory_rw_debug = dlsym(RTLD_DEFAULT, "cpu_memory_rw_debug");
	*(void **)&emulator.cpu_get_phys_page_debug =
		dlsym(RTLD_DEFAULT, "cpu_get_phys_page_debug");
	*(void **)&emulator.cpu_physical_memory_map =
		dlsym(RTLD_DEFAULT, "cpu_physical_memory_map");
	*(void **)&emulator.g_byte_array_new = dlsym(RTLD_DEFAULT, "g_byte_array_new");
	if (emulator.g_byte_array_new)
		*(void **)&emulator.read_register = dlsym(RTLD_DEFAULT, architecture->reader);
}

bool guest_open(const char *name)
{
	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
		if (!strcmp(architectures[i].name, name))
			architecture = &architectures[i];
	}
	if (architecture)
		find_emulator();
	return architecture;
}

void guest_follow(uint64_t address)
{
	if (!cpu && emulator.qemu_get_cpu)
		cpu = emulator.qemu_get_cpu(0);
	if (guest_in_kernel(address))
		find_running_task();
}

uint32_t guest_block_flags(const uint8_t *insn, size_t size)
{
	return (architecture->halts(insn, size) ? HALTS : 0) |
	       (architecture->reads_clock(insn, size) ? READS_CLOCK : 0);
}

void guest_observe(uint64_t address, struct guest_state *state)
{
	observe_task(address, state);
	if (!cpu || !emulator.read_register)
		return;
	state->stack_pointer = read_register(architecture->stack_pointer);
	if (architecture->flags < 0)
		return;
	state->flags |= INTERRUPTS_KNOWN;
	if (!(read_register(architecture->flags) & architecture->interrupts) !=
	    architecture->bit_forbids)
		state->flags |= INTERRUPTS_OFF;
}
