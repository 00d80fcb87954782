// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user and the program of a thread.
 *
 * Any user can give a thread any name, so a name alone says nothing about whose it is. The open
 * folder /proc/TID stays with its thread: once that has ended, nothing below it can be read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/status.h"
#include "proc/thread_identity.h"

static bool read_ids(int directory, uint32_t uid[THREAD_IDS])
{
	const char *status = status_read(directory);
	uint64_t numbers[THREAD_IDS];

	if (!status || status_numbers(status, "Uid", numbers, THREAD_IDS) != THREAD_IDS)
		return false;
	for (int i = 0; i < THREAD_IDS; i++)
		uid[i] = (uint32_t)numbers[i];
	return true;
}

static void read_executable(int directory, char path[PATH_MAX])
{
	ssize_t length = readlinkat(directory, "exe", path, PATH_MAX - 1);
	struct stat running, named;

	path[length > 0 ? length : 0] = '\0';
	if (fstatat(directory, "exe", &running, 0) || stat(path, &named) ||
	    running.st_dev != named.st_dev || running.st_ino != named.st_ino)
		*path = '\0';
}

bool thread_identity_read(int tid, struct thread *thread, struct thread_identity *identity)
{
	char path[32];
	int directory;
	bool read;

	*thread = (struct thread){ 0 };
	snprintf(path, sizeof(path), "/proc/%d", tid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return false;
	read_executable(directory, identity->executable);
	read = read_ids(directory, identity->uid) && thread_read_stat(directory, thread);
	close(directory);
	return read;
}
