/* SPDX-License-Identifier: GPL-2.0-only */
/* One read at a time by io_uring. */
#ifndef RTSCOPE_EVENT_URING_H
#define RTSCOPE_EVENT_URING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct uring_entry;
struct uring_result;

struct uring {
	int fd;
	uint32_t *submitted; /* entries, reported to the kernel */
	uint32_t *completed; /* results, reported by the kernel */
	uint32_t *seen;	     /* results, reported to the kernel */
	uint32_t *index;     /* of the entry that is submitted next */
	struct uring_entry *entry;
	const struct uring_result *result;
	uint32_t result_mask;
	bool pending;
};

/* 0, or -1 with errno: ENOSYS where the kernel has no io_uring, EPERM where it is turned off. */
int uring_open(struct uring *uring);

/*
 * Submit a read and wait for its end. Returns its bytes, or -1 with errno. After EINTR it goes
 * on, and the same read must be asked for again.
 */
ssize_t uring_read(struct uring *uring, int fd, void *buffer, size_t size);

#endif
