// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kinds of work that show what two CPUs share.
 *
 * For the caches it is a chase through three quarters of one: alone it stays
 * within, two of them do not fit. Each node's memory has the working sets of the
 * first and of the second of a pair, mapped by the first CPU there that needs them.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "proc/caches.h"
#include "probe/reach.h"
#include "probe/topology_work.h"
#include "probe/work.h"

#define STEPS	       2000
#define LOADS	       512
#define STREAMED_BYTES (64 * 1024)
#define STREAM_MIN     (8 * 1024 * 1024)
#define PAGE_BYTES     4096
#define NODES	       64
#define LEVELS	       3
#define SPINS	       2000
#define TIMES	       4096

const char *const kind_names[KINDS] = { "scalar", "vector", "L1", "L2", "L3", "memory" };

/* The working sets of one side of a pair. */
struct sets {
	char *memory;
	void *at[LEVELS]; /* where each chase is */
	size_t streamed;
	bool failed;
};

static struct {
	size_t line;
	size_t size[LEVELS];   /* of each chase; 0: not measured */
	size_t offset[LEVELS]; /* in the sets' memory */
	size_t stream;	       /* bytes, all the sets' memory; 0: not measured */
	struct sets sets[NODES][2];
	bool failed;
} kinds;

static struct {
	uint32_t word __attribute__((aligned(128)));
	unsigned int count __attribute__((aligned(128)));
	double ns[TIMES]; /* from one to the other, mean of MESSAGES_TIMED round trips */
} message;

static size_t pages(size_t size)
{
	return (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void kinds_choose(unsigned int cpu)
{
	uint64_t room = memory_available() / 8;
	struct cache cache = { 0 }, last = { 0 };
	size_t used = 0;

	kinds.line = reach_line_size();
	for (unsigned int level = 0; level < LEVELS; level++) {
		if (!cache_of_cpu(cpu, level + 1, &cache))
			continue;
		kinds.size[level] = pages(cache.size / 4 * 3);
		if (used + kinds.size[level] > room) {
			kinds.size[level] = 0;
			continue;
		}
		kinds.offset[level] = used;
		used += kinds.size[level];
		last = cache;
	}
	kinds.stream = pages(2 * last.size > STREAM_MIN ? 2 * last.size : STREAM_MIN);
	if (kinds.stream < used)
		kinds.stream = used;
	if (kinds.stream > room)
		kinds.stream = 0;
	if (!kinds.size[0])
		session_warn("caches-unknown",
			     "the kernel does not report the sizes of the caches, so sharing of caches was not measured");
	if (!kinds.stream)
		session_warn("little-memory",
			     "less than an eighth of the free memory is twice the last cache, so what CPUs share of the memory's bandwidth was not measured");
}

bool kind_is_measured(enum kind kind)
{
	switch (kind) {
	case KIND_SCALAR:
		return true;
	case KIND_VECTOR:
		return work_vector_name() != NULL;
	case KIND_MEMORY:
		return kinds.stream && !kinds.failed;
	default:
		return kinds.size[kind - KIND_L1] && !kinds.failed;
	}
}

static struct sets *sets_here(unsigned int side)
{
	unsigned int cpu, node = 0;

	syscall(SYS_getcpu, &cpu, &node, NULL);
	return &kinds.sets[node % NODES][side];
}

static void map_sets(struct sets *sets)
{
	size_t size = kinds.stream;

	for (unsigned int level = 0; level < LEVELS; level++) {
		if (kinds.offset[level] + kinds.size[level] > size)
			size = kinds.offset[level] + kinds.size[level];
	}
	sets->memory = reach_map(size, 0);
	if (!sets->memory) {
		sets->failed = kinds.failed = true;
		return;
	}
	for (unsigned int level = 0; level < LEVELS; level++) {
		if (!kinds.size[level])
			continue;
		sets->at[level] = sets->memory + kinds.offset[level];
		reach_link(sets->at[level], kinds.size[level], kinds.line, level + 1);
	}
}

/* The kind and the side of a job, as its context. */
static struct task {
	enum kind kind;
	unsigned int side;
	struct sets *sets; /* of the node of the CPU that does it */
} tasks[KINDS][2];

static void prepare(struct member *member, void *context)
{
	struct task *task = context;
	struct sets *sets = sets_here(task->side);
	unsigned int level = task->kind - KIND_L1;

	(void)member;
	task->sets = sets;
	if (task->kind < KIND_L1)
		return;
	if (!sets->memory && !sets->failed)
		map_sets(sets);
	if (sets->failed || task->kind == KIND_MEMORY)
		return;
	reach_read(sets->memory + kinds.offset[level], kinds.size[level]);
	if (task->kind != KIND_L3)
		reach_read(sets->memory + kinds.offset[level], kinds.size[level]);
}

static uint64_t stream(struct sets *sets)
{
	if (sets->streamed + STREAMED_BYTES > kinds.stream)
		sets->streamed = 0;
	reach_read(sets->memory + sets->streamed, STREAMED_BYTES);
	sets->streamed += STREAMED_BYTES;
	return STREAMED_BYTES;
}

static uint64_t work(struct member *member, void *context)
{
	const struct task *task = context;
	struct sets *sets = task->sets;

	(void)member;
	if (task->kind == KIND_SCALAR) {
		work_scalar(STEPS);
		return STEPS * WORK_CHAINS;
	}
	if (task->kind == KIND_VECTOR) {
		work_vector(STEPS);
		return (uint64_t)STEPS * WORK_CHAINS * work_vector_lanes();
	}
	if (sets->failed)
		return 1;
	if (task->kind == KIND_MEMORY)
		return stream(sets);
	sets->at[task->kind - KIND_L1] = reach_chase(sets->at[task->kind - KIND_L1], LOADS);
	return LOADS;
}

struct job kind_job(enum kind kind, unsigned int side)
{
	struct task *task = &tasks[kind][side];

	*task = (struct task){ .kind = kind, .side = side };
	return (struct job){ .prepare = prepare, .work = work, .context = task };
}

bool kinds_had_memory(void)
{
	return !kinds.failed;
}

/* Until the word is odd or even, as @odd says; false when a moment passed or all is over. */
static bool await_word(uint32_t odd, bool patient)
{
	for (unsigned int spins = 0; __atomic_load_n(&message.word, __ATOMIC_ACQUIRE) % 2 != odd;
	     spins++) {
		if (spins < SPINS)
			continue;
		if (!patient || workers_is_over())
			return false;
		sched_yield();
	}
	return true;
}

static void send_word(void)
{
	__atomic_store_n(&message.word, message.word + 1, __ATOMIC_RELEASE);
}

static uint64_t send_messages(struct member *member, void *context)
{
	uint64_t start_ns = clock_now_ns();

	(void)member;
	(void)context;
	for (unsigned int i = 0; i < MESSAGES_TIMED; i++) {
		if (!await_word(0, true))
			return 0;
		send_word();
	}
	if (!await_word(0, true))
		return 0;
	if (message.count < TIMES)
		message.ns[message.count++] =
			(double)(clock_now_ns() - start_ns) / (2 * MESSAGES_TIMED);
	return MESSAGES_TIMED;
}

static uint64_t answer_messages(struct member *member, void *context)
{
	uint64_t answered = 0;

	(void)member;
	(void)context;
	for (; answered < MESSAGES_TIMED; answered++) {
		if (!await_word(1, false)) {
			sched_yield();
			break;
		}
		send_word();
	}
	return answered;
}

struct job message_job(unsigned int side)
{
	message.word = 0;
	message.count = 0;
	return (struct job){ .work = side ? answer_messages : send_messages };
}

double message_ns(void)
{
	return median_of(message.ns, message.count);
}
