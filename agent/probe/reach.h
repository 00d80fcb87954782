/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work on memory: how long a load takes to answer, and how much moves at once.
 *
 * A chase follows pointers through every line of a set once, in a random order, so
 * that no prefetcher knows where it goes next: each load waits for the one before.
 * Reading, writing and copying go straight through and wait for nothing.
 */
#ifndef RTSCOPE_REACH_H
#define RTSCOPE_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a transparent huge page; 0 where the kernel has none. */
size_t reach_huge_page(void);

/*
 * Memory of ordinary pages, or where @huge of that many bytes is given, which @size is then a
 * multiple of, of such huge pages as the kernel gives; all of it present, NULL where there is none.
 */
void *reach_map(size_t size, size_t huge);

/* Bytes of this process's memory in huge pages; false if the kernel does not report them. */
bool reach_in_huge_pages(uint64_t *bytes);

/* Bytes between two lines of the caches, as the kernel says; 64 where it does not. */
size_t reach_line_size(void);

/* Link the lines of @size bytes at @base; the chase begins there. */
void reach_link(void *base, size_t size, size_t line, uint64_t seed);

/* Follow @loads pointers from @at (a multiple of 8); where it came to. */
void *reach_chase(void *at, unsigned int loads);

/* Of @size bytes, a multiple of 128, at addresses that are multiples of 64. */
void reach_read(const void *from, size_t size);
void reach_write(void *to, size_t size);
void reach_copy(void *to, const void *from, size_t size);

#endif
