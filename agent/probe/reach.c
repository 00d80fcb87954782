// SPDX-License-Identifier: GPL-2.0-only
/* Work on memory: pointer chases and streams, 16 bytes at once by any unit that there is. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "proc/file.h"
#include "base/pause.h"
#include "probe/reach.h"

#define LINE_BYTES     64
#define LINE_BYTES_MAX 1024

typedef uint64_t chunk __attribute__((vector_size(16), may_alias));

size_t reach_huge_page(void)
{
	char text[32];

	if (!file_text(AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text,
		       sizeof(text)))
		return 0;
	return strtoul(text, NULL, 10);
}

bool reach_in_huge_pages(uint64_t *bytes)
{
	char text[2048];
	const char *line;

	if (!file_text(AT_FDCWD, "/proc/self/smaps_rollup", text, sizeof(text)))
		return false;
	line = strstr(text, "\nAnonHugePages:");
	if (line)
		*bytes = 1024 * strtoull(line + strlen("\nAnonHugePages:"), NULL, 10);
	return line;
}

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* All memory is locked, of which an ordinary user may have little: then this is not. */
void *reach_map(size_t size, size_t huge)
{
	size_t length = size + huge;
	char *memory = map(length), *start = memory;

	if (memory == MAP_FAILED && errno == EAGAIN && !mlockall(MCL_CURRENT))
		start = memory = map(length);
	if (memory == MAP_FAILED)
		return NULL;
	if (huge)
		start += (huge - (uintptr_t)memory % huge) % huge;
	/* Without access at first: locked memory would be there at once, in pages of any size. */
	madvise(start, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (mprotect(start, size, PROT_READ | PROT_WRITE)) {
		munmap(memory, length);
		return NULL;
	}
	reach_write(start, size);
	return start;
}

/* Of the calling CPU: an offline one, as CPU 0 may be, reports none. */
size_t reach_line_size(void)
{
	char path[80], text[32];
	unsigned long line;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/cache/index0/coherency_line_size", sched_getcpu());
	if (!file_text(AT_FDCWD, path, text, sizeof(text)))
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
