// SPDX-License-Identifier: GPL-2.0-only
/* Work on memory: pointer chases and streams, 16 bytes at once by any unit that there is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/file.h"
#include "core/pause.h"
#include "probe/reach.h"

#define LINE_BYTES     64
#define LINE_BYTES_MAX 1024

typedef uint64_t chunk __attribute__((vector_size(16), may_alias));

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* All memory is locked, of which an ordinary user may have little: then this is not. */
void *reach_map(size_t size)
{
	void *memory = map(size);

	if (memory == MAP_FAILED && errno == EAGAIN && !mlockall(MCL_CURRENT))
		memory = map(size);
	if (memory == MAP_FAILED)
		return NULL;
	/* Without access at first: locked memory would be there at once, in huge pages. */
	madvise(memory, size, MADV_NOHUGEPAGE);
	if (mprotect(memory, size, PROT_READ | PROT_WRITE)) {
		munmap(memory, size);
		return NULL;
	}
	reach_write(memory, size);
	return memory;
}

size_t reach_line_size(void)
{
	char text[32];
	unsigned long line;

	if (!file_text(AT_FDCWD, "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
		       text, sizeof(text)))
		return LINE_BYTES;
	line = strtoul(text, NULL, 10);
	return line >= 16 && line <= LINE_BYTES_MAX && !(line & (line - 1)) ? line : LINE_BYTES;
}

/* Sattolo's shuffle of each line's successor makes one cycle of all lines. */
void reach_link(void *base, size_t size, size_t line, uint64_t seed)
{
	size_t count = size / line;
	char *first = base;

#define SUCCESSOR(n) (*(size_t *)(first + (n) * line))
	for (size_t i = 0; i < count; i++)
		SUCCESSOR(i) = i;
	for (size_t i = count - 1; i > 0 && i < count; i--) {
		size_t j = (size_t)(random_next(&seed) % i);
		size_t successor = SUCCESSOR(i);

		SUCCESSOR(i) = SUCCESSOR(j);
		SUCCESSOR(j) = successor;
	}
	for (size_t i = 0; i < count; i++)
		*(void **)&SUCCESSOR(i) = first + SUCCESSOR(i) * line;
#undef SUCCESSOR
}

void *reach_chase(void *at, unsigned int loads)
{
	void **next = at;

	for (; loads; loads -= 8) {
		next = *next;
		next = *next;
		next = *next;
		next = *next;
		next = *next;
		next = *next;
		next = *next;
		next = *next;
	}
	return next;
}

void reach_read(const void *from, size_t size)
{
	const chunk *at = from, *end = (const chunk *)((const char *)from + size);
	chunk a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	for (; at < end; at += 8) {
		a += at[0] + at[4];
		b += at[1] + at[5];
		c += at[2] + at[6];
		d += at[3] + at[7];
	}
	a += b + c + d;
	__asm__ volatile("" : : "r"(&a) : "memory");
}

void reach_write(void *to, size_t size)
{
	chunk *at = to, *end = (chunk *)((char *)to + size), value = { 1, 1 };

	for (; at < end; at += 4) {
		at[0] = value;
		at[1] = value;
		at[2] = value;
		at[3] = value;
		__asm__ volatile("" : : : "memory"); /* or it would become a call of memset() */
	}
}

void reach_copy(void *to, const void *from, size_t size)
{
	const chunk *source = from, *end = (const chunk *)((const char *)from + size);
	chunk *at = to;

	for (; source < end; source += 4, at += 4) {
		chunk a = source[0], b = source[1], c = source[2], d = source[3];

		at[0] = a;
		at[1] = b;
		at[2] = c;
		at[3] = d;
		__asm__ volatile("" : : : "memory");
	}
}
