// SPDX-License-Identifier: GPL-2.0-only
/* By system calls and the layouts of linux/io_uring.h, which musl does not bring. */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/event_uring.h"

#define OFFSET_RINGS   0LL
#define OFFSET_ENTRIES 0x10000000LL
#define OP_READ	       22
#define GET_EVENTS     1
#define ONE_MAPPING    1 /* of both rings: every kernel from 5.4 on */

struct uring_entry {
	uint8_t operation;
	uint8_t flags;
	uint16_t priority;
	int32_t fd;
	uint64_t offset; /* all ones: where the file stands */
	uint64_t address;
	uint32_t size;
	uint32_t read_flags;
	uint64_t user_data;
	uint64_t unused[3];
};

struct uring_result {
	uint64_t user_data;
	int32_t value;
	uint32_t flags;
};

struct parameters {
	uint32_t entries;
	uint32_t results;
	uint32_t flags[3];
	uint32_t features;
	uint32_t unused[4];
	struct {
		uint32_t head, tail, mask, count, flags, dropped, array, reserved;
		uint64_t address;
	} entry;
	struct {
		uint32_t head, tail, mask, count, overflow, array, flags, reserved;
		uint64_t address;
	} result;
};

_Static_assert(sizeof(struct uring_entry) == 64 && sizeof(struct parameters) == 120,
	       "as the kernel's");

static void *map(int fd, size_t size, off_t offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
}

int uring_open(struct uring *uring)
{
	struct parameters parameters = { 0 };
	size_t size;
	char *rings;

	uring->fd = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	if (uring->fd < 0)
		return -1;
	if (!(parameters.features & ONE_MAPPING)) {
		errno = ENOSYS;
		return -1;
	}
	size = parameters.result.array + parameters.results * sizeof(struct uring_result);
	if (size < parameters.entry.array + sizeof(uint32_t))
		size = parameters.entry.array + sizeof(uint32_t);
	rings = map(uring->fd, size, OFFSET_RINGS);
	uring->entry = map(uring->fd, sizeof(struct uring_entry), OFFSET_ENTRIES);
	if (rings == MAP_FAILED || uring->entry == MAP_FAILED)
		return -1;
	uring->submitted = (uint32_t *)(rings + parameters.entry.tail);
	uring->index = (uint32_t *)(rings + parameters.entry.array);
	uring->seen = (uint32_t *)(rings + parameters.result.head);
	uring->completed = (uint32_t *)(rings + parameters.result.tail);
	uring->result_mask = *(uint32_t *)(rings + parameters.result.mask);
	uring->result = (struct uring_result *)(rings + parameters.result.array);
	return 0;
}

static void submit(struct uring *uring, int fd, void *buffer, size_t size)
{
	*uring->entry = (struct uring_entry){
		.operation = OP_READ,
		.fd = fd,
		.offset = UINT64_MAX,
		.address = (uintptr_t)buffer,
		.size = (uint32_t)size,
	};
	*uring->index = 0;
	__atomic_store_n(uring->submitted, *uring->submitted + 1, __ATOMIC_RELEASE);
}

ssize_t uring_read(struct uring *uring, int fd, void *buffer, size_t size)
{
	bool first = !uring->pending;
	int32_t value;

	if (first)
		submit(uring, fd, buffer, size);
	uring->pending = true;
	while (__atomic_load_n(uring->completed, __ATOMIC_ACQUIRE) == *uring->seen) {
		if (syscall(SYS_io_uring_enter, uring->fd, first, 1, GET_EVENTS, NULL, 0) < 0)
			return -1;
		first = false;
	}
	uring->pending = false;
	value = uring->result[*uring->seen & uring->result_mask].value;
	__atomic_store_n(uring->seen, *uring->seen + 1, __ATOMIC_RELEASE);
	if (value >= 0)
		return value;
	errno = -value;
	return -1;
}
