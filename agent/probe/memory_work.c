// SPDX-License-Identifier: GPL-2.0-only
/*
 * Works on memory. A field is mapped by the CPU that first works on it: then it
 * lies on that CPU's node.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pause.h"
#include "probe/memory_work.h"
#include "probe/reach.h"

#define LOADS	      2048 /* what counts them is in the caches, too, as seldom as this */
#define PIECE_BYTES   (32 * 1024)
#define UPDATES	      256
#define CHURNED_BYTES (256 * 1024)
#define PAGE_BYTES    4096
#define FILE_BYTES    (16 * 1024 * 1024)

const char *const aggressor_names[AGGRESSORS] = {
	"streams", "random writes", "atomics", "page tables", "file writes", "cache flushes",
};

struct field {
	size_t room;
	char *memory;
	bool failed;
	enum access access;
	enum aggressor aggressor;
	size_t size;
	size_t linked; /* bytes of which all lines are in the chase; 0: none */
	size_t offset; /* of the next piece of a stream */
	void *at;      /* where the chase is */
	uint64_t random;
	int file; /* -1: none */
	off_t written;
} __attribute__((aligned(128)));

static struct {
	struct field *field;
	unsigned int fields;
	size_t line;
	size_t huge; /* bytes of a page where they are huge */
	bool failed;
} memory;

int fields_init(unsigned int count, size_t huge)
{
	memory.line = reach_line_size();
	memory.huge = huge;
	memory.fields = count;
	if (posix_memalign((void **)&memory.field, 128, count * sizeof(*memory.field)))
		return -1;
	for (unsigned int i = 0; i < count; i++)
		memory.field[i] = (struct field){ .random = i, .file = -1 };
	return 0;
}

void field_room(unsigned int index, size_t size)
{
	memory.field[index].room = size;
	if (memory.huge)
		memory.field[index].room = (size + memory.huge - 1) / memory.huge * memory.huge;
}

uint64_t fields_mapped(void)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < memory.fields; i++)
		bytes += memory.field[i].memory ? memory.field[i].room : 0;
	return bytes;
}

bool fields_had_memory(void)
{
	return !memory.failed;
}

bool aggressor_is_possible(enum aggressor aggressor)
{
#if defined(__x86_64__) || defined(__aarch64__) || defined(__powerpc64__)
	return aggressor < AGGRESSORS;
#else
	return aggressor < AGGRESSOR_FLUSHES;
#endif
}

static inline void flush_line(void *line)
{
#if defined(__x86_64__)
	__builtin_ia32_clflush(line);
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#elif defined(__powerpc64__)
	__asm__ volatile("dcbf 0, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

static bool has_memory(struct field *field)
{
	if (field->memory || field->failed)
		return !field->failed;
	field->memory = reach_map(field->room, memory.huge);
	if (!field->memory)
		field->failed = memory.failed = true;
	return !field->failed;
}

/* Whether the lines had to be linked first. */
static bool link_lines(struct field *field)
{
	if (field->linked == field->size)
		return false;
	reach_link(field->memory, field->size, memory.line, field->size);
	field->linked = field->size;
	field->at = field->memory;
	return true;
}

/*
 * Once through all lines in the order of the loads that count: then each of these meets its line
 * after all others, as it would for ever. What was just read through is in a cache in part, even
 * where the set is larger and the loads would find none of it there.
 */
static void go_round(struct field *field)
{
	size_t left = (field->size / memory.line + 7) / 8 * 8;

	while (left) {
		unsigned int loads = left < LOADS ? (unsigned int)left : LOADS;

		field->at = reach_chase(field->at, loads);
		left -= loads;
	}
}

static void prepare_access(struct member *member, void *context)
{
	struct field *field = context;

	(void)member;
	if (!has_memory(field))
		return;
	if (field->access == ACCESS_CHASE) {
		if (!link_lines(field))
			go_round(field);
		return;
	}
	if (field->access != ACCESS_READ)
		field->linked = 0;
	field->offset = 0;
	reach_read(field->memory, field->size);
}

static void prepare_victim(struct member *member, void *context)
{
	struct field *field = context;

	(void)member;
	if (has_memory(field) && !link_lines(field))
		reach_read(field->memory, field->size);
}

/* The next bytes of a stream through @size bytes: at most a piece. */
static size_t next_piece(struct field *field, size_t size, char **piece)
{
	size_t length = size - field->offset < PIECE_BYTES ? size - field->offset : PIECE_BYTES;

	*piece = field->memory + field->offset;
	field->offset = field->offset + length < size ? field->offset + length : 0;
	return length;
}

static uint64_t stream(struct field *field)
{
	size_t half = field->size / 2, done = 0, length;
	char *piece;

	while (done < PIECE_BYTES) {
		length = next_piece(field, field->access == ACCESS_COPY ? half : field->size,
				    &piece);
		if (field->access == ACCESS_READ)
			reach_read(piece, length);
		else if (field->access == ACCESS_WRITE)
			reach_write(piece, length);
		else
			reach_copy(piece + half, piece, length);
		done += length;
	}
	return done;
}

static uint64_t work_access(struct member *member, void *context)
{
	struct field *field = context;

	(void)member;
	if (field->failed)
		return 1;
	if (field->access != ACCESS_CHASE)
		return stream(field);
	field->at = reach_chase(field->at, LOADS);
	return LOADS;
}

struct job access_job(unsigned int index, enum access access, size_t size)
{
	struct field *field = &memory.field[index];

	field->access = access;
	field->size = size;
	return (struct job){ .prepare = prepare_access, .work = work_access, .context = field };
}

struct job victim_job(unsigned int index, size_t size)
{
	struct job job = access_job(index, ACCESS_CHASE, size);

	job.prepare = prepare_victim;
	return job;
}

static uint64_t *random_word(struct field *field)
{
	size_t lines = field->room / memory.line;

	return (uint64_t *)(field->memory + random_next(&field->random) % lines * memory.line);
}

static void write_at_random(struct field *field)
{
	for (unsigned int i = 0; i < UPDATES; i++)
		*(volatile uint64_t *)random_word(field) = i;
}

static void add_atomically(struct field *field)
{
	for (unsigned int i = 0; i < UPDATES; i++)
		__atomic_fetch_add(random_word(field), 1, __ATOMIC_SEQ_CST);
}

static void flush_what_was_written(struct field *field)
{
	for (unsigned int i = 0; i < UPDATES; i++) {
		uint64_t *word = random_word(field);

		*(volatile uint64_t *)word = i;
		flush_line(word);
	}
}

static void churn_pages(void)
{
	char *pages = mmap(NULL, CHURNED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (pages == MAP_FAILED)
		return;
	for (size_t at = 0; at < CHURNED_BYTES; at += PAGE_BYTES)
		*(volatile char *)(pages + at) = 1;
	munmap(pages, CHURNED_BYTES);
}

/* A file without a name, on a disk where there is one. */
static int open_file(void)
{
	int file = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return file < 0 ? (int)syscall(SYS_memfd_create, "rtscope", 1 /* MFD_CLOEXEC */) : file;
}

static void write_file(struct field *field)
{
	if (field->file < 0)
		field->file = open_file();
	if (field->file < 0 || pwrite(field->file, field->memory, PIECE_BYTES, field->written) < 0)
		return;
	field->written = (field->written + PIECE_BYTES) % FILE_BYTES;
	if (!field->written)
		fdatasync(field->file);
}

static uint64_t work_aggressor(struct member *member, void *context)
{
	struct field *field = context;

	(void)member;
	if (field->failed)
		return 1;
	switch (field->aggressor) {
	case AGGRESSOR_STREAMS:
		return stream(field);
	case AGGRESSOR_WRITES:
		write_at_random(field);
		break;
	case AGGRESSOR_ATOMICS:
		add_atomically(field);
		break;
	case AGGRESSOR_FLUSHES:
		flush_what_was_written(field);
		break;
	case AGGRESSOR_PAGES:
		churn_pages();
		break;
	default:
		write_file(field);
	}
	return 1;
}

static void prepare_aggressor(struct member *member, void *context)
{
	struct field *field = context;

	(void)member;
	has_memory(field);
	field->linked = 0;
	field->offset = 0;
}

struct job aggressor_job(unsigned int index, enum aggressor aggressor)
{
	struct field *field = &memory.field[index];

	field->aggressor = aggressor;
	field->access = ACCESS_COPY;
	field->size = field->room;
	return (struct job){ .prepare = prepare_aggressor,
			     .work = work_aggressor,
			     .context = field };
}
