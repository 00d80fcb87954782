/* SPDX-License-Identifier: GPL-2.0-only */
/* The file "status" of a process or thread: lines of a key and a value. */
#ifndef RTSCOPE_STATUS_H
#define RTSCOPE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATUS_NAMESPACES_MAX \
	33 /* numbers of "NSpid": MAX_PID_NS_LEVEL of the kernel, and the first */

/*
 * Read the file "status" in @directory, an open folder such as /proc/PID. Returns its text, which
 * the next call overwrites, or NULL if it cannot be read: the process has ended.
 */
const char *status_read(int directory);

/* The same of the process or thread @pid; 0 is this process. */
const char *status_read_pid(int pid);

/* Return the value of @key up to the end of @status; NULL if there is no such line. */
const char *status_value(const char *status, const char *key);

/* Copy the value of @key, cut to @size; false if there is no such line. */
bool status_copy(const char *status, const char *key, char *value, size_t size);

/* Read the first number of the value of @key; false if there is no such line. */
bool status_number(const char *status, const char *key, uint64_t *number);

/* Read up to @most numbers of the value of @key. Returns how many there are. */
unsigned int status_numbers(const char *status, const char *key, uint64_t *numbers,
			    unsigned int most);

#endif
