/* SPDX-License-Identifier: GPL-2.0-only */
/* Data caches and available memory, as the kernel reports them. */
#ifndef RTSCOPE_CACHES_H
#define RTSCOPE_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache {
	size_t size;		/* bytes */
	unsigned int shared_by; /* CPUs */
};

/* @cpu's data cache of @level, or its last-level cache for 0. False if the kernel does not say. */
bool cache_of_cpu(unsigned int cpu, unsigned int level, struct cache *cache);

/* The same of the CPU that the caller runs on. */
bool cache_here(unsigned int level, struct cache *cache);

/* Bytes that can be allocated without swapping: MemAvailable, or free memory and buffers. */
uint64_t memory_available(void);

#endif
