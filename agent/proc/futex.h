/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for a word of this process's memory to change; musl lacks linux/futex.h. */
#ifndef RTSCOPE_FUTEX_H
#define RTSCOPE_FUTEX_H

#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

/* Sleep while *@word is @value. It may return early, so check the word again. */
static inline void futex_sleep(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void futex_wake_one(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void futex_wake_all(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
