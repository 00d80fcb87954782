/* SPDX-License-Identifier: GPL-2.0-only */
/* The user and the program of a thread. */
#ifndef RTSCOPE_THREAD_IDENTITY_H
#define RTSCOPE_THREAD_IDENTITY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc/thread.h"

#define THREAD_IDS 4 /* real, effective, saved, of the file system */

struct thread_identity {
	uint32_t uid[THREAD_IDS];
	/*
	 * Path of the executable. Empty where it cannot be read, and where the file of that path is
	 * not the one that runs: it was replaced, or the process has another root.
	 */
	char executable[PATH_MAX];
};

/*
 * Read thread @tid and its identity at one go: all of it belongs to one thread, even if the number
 * is given to another one meanwhile. False where the thread has ended or cannot be read.
 */
bool thread_identity_read(int tid, struct thread *thread, struct thread_identity *identity);

#endif
