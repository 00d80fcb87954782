// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU's that remembers what the guest has just executed.
 *
 * Each block of instructions leaves one entry in a ring: its address, how many
 * instructions came before it, which task ran, its stack pointer, and whether
 * interrupts and preemption were off. When the guest calls one function for the
 * n-th time, what led there is written to a file (rtscope/explain/witness.py
 * reads it). The guest cannot tell: no instruction is added and none takes
 * longer in virtual time.
 *
 * Instructions are counted one by one. A block that an access to a device or a
 * fault cuts short has not executed as many as it holds, and is begun again.
 *
 * The plugin interface shows neither registers nor memory, but the emulator's
 * own functions do, where its program exports them: they are looked up by name,
 * and what they would have told is left out where they are missing.
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
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is used of the plugin interface, version 1: Debian packages no header for it. */
#define EXPORTED __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_INLINE_ADD_U64 };

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
};

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*callback)(qemu_plugin_id_t id,
							    struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*callback)(unsigned int index, void *data),
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*callback)(unsigned int index, void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation,
						void *number, uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORTED int qemu_plugin_version = 1;

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

/* The file: a head, then for each call that was wanted a struct call, its entries and its tasks. */
#define MAGIC	   "rtscope witness1"
#define WANTED_MAX 64
#define TASKS_MAX  256
#define TASK_SIZE  8192
#define SLACK	   20000 /* instructions between reading the clock and telling what it read */

enum {
	HALTS = 1,	 /* the block ends by waiting for an interrupt */
	READS_CLOCK = 2, /* the block ends by reading the time */
	INTERRUPTS_OFF = 4,
	INTERRUPTS_KNOWN = 8,
	PREEMPT_KNOWN = 16,
};

struct entry {
	uint64_t address;
	uint64_t before; /* instructions executed before this block */
	uint64_t task;	 /* 0: not known */
	uint64_t stack_pointer;
	uint32_t preempt;
	uint32_t flags;
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

static const struct architecture *architecture;
static uint64_t notice, offsets, current, preempt, preempt_in_task = UINT64_MAX;
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

static void *cpu;			    /* the emulator's only one */
static bool kernel_was_seen, user_was_seen; /* in this order: firmware is neither */
static const uint64_t *current_task;	    /* in the guest's memory */
static const uint32_t *preempt_count;

static bool guest_read(uint64_t address, void *data, size_t size)
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

static bool in_kernel(uint64_t address)
{
	return address >> 63;
}

/* Per-CPU memory moves to its lasting place during the boot: looked at now and then. */
static void find_running_task(void)
{
	static uint64_t offset_before;
	uint64_t offset;

	if (!offsets || !guest_read(offsets, &offset, sizeof(offset)) || offset == offset_before)
		return;
	offset_before = offset;
	current_task = current ? guest_memory(current + offset) : NULL;
	preempt_count = preempt ? guest_memory(preempt + offset) : NULL;
}

static void observe_task(struct entry *entry)
{
	static uint64_t task_before;
	static const uint32_t *count_before;

	if (current_task)
		entry->task = *current_task;
	else if (emulator.read_register && architecture->current >= 0 && in_kernel(entry->address))
		entry->task = read_register(architecture->current);
	if (preempt_in_task != UINT64_MAX && entry->task) {
		if (entry->task != task_before)
			count_before = guest_memory(entry->task + preempt_in_task);
		task_before = entry->task;
		preempt_count = count_before;
	}
	if (preempt_count) {
		entry->preempt = *preempt_count;
		entry->flags |= PREEMPT_KNOWN;
	}
}

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
		uint64_t task = entry_at(i)->task;

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
	uint64_t task = entry_at(pending.ring_used - 1)->task, first;

	return !task || guest_read(task, &first, sizeof(first));
}

static void on_block(uint64_t address, uint32_t flags)
{
	struct entry *entry;

	if (pending.wanted && ((in_kernel(address) && tasks_can_be_read()) ||
			       ring_used - pending.ring_used > PATIENCE))
		write_pending();
	if (!user_was_seen) /* the boot explains nothing, and looking at all of it takes long */
		return;
	entry = &ring[ring_used++ & (ring_size - 1)];
	*entry = (struct entry){ .address = address, .before = instructions, .flags = flags };
	observe_task(entry);
	if (!cpu || !emulator.read_register)
		return;
	entry->stack_pointer = read_register(architecture->stack_pointer);
	if (architecture->flags < 0)
		return;
	entry->flags |= INTERRUPTS_KNOWN;
	if (!(read_register(architecture->flags) & architecture->interrupts) !=
	    architecture->bit_forbids)
		entry->flags |= INTERRUPTS_OFF;
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
	size_t size, count = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn = NULL;
	const uint8_t *bytes;

	(void)id;
	if (!cpu && emulator.qemu_get_cpu)
		cpu = emulator.qemu_get_cpu(0);
	kernel_was_seen |= in_kernel(address);
	user_was_seen |= kernel_was_seen && !in_kernel(address);
	if (in_kernel(address))
		find_running_task();
	for (size_t i = 0; i < count; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (notice && qemu_plugin_insn_vaddr(insn) == notice)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_call,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   &instructions, 1);
	}
	bytes = insn ? qemu_plugin_insn_data(insn) : NULL;
	size = insn ? qemu_plugin_insn_size(insn) : 0;
	qemu_plugin_register_vcpu_tb_exec_cb(tb,
					     bytes && architecture->halts(bytes, size) ?
						     on_halting_block :
					     bytes && architecture->reads_clock(bytes, size) ?
						     on_clock_block :
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
		{ "notice=", &notice },	  { "ring=", &ring_size },
		{ "offsets=", &offsets }, { "current=", &current },
		{ "preempt=", &preempt }, { "preempt_in_task=", &preempt_in_task },
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

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
				 char **argv)
{
	char text[200];

	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
		if (!strcmp(architectures[i].name, info->target_name))
			architecture = &architectures[i];
	}
	if (!architecture)
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
	find_emulator();
	put(MAGIC, strlen(MAGIC));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
