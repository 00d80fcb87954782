// SPDX-License-Identifier: GPL-2.0-only
/*
 * What busybox cannot do, for scripted.py:
 *
 *	schedule NAME PRIORITY		each thread whose name begins so: fifo, or other for 0
 *	schedule --limited PROGRAM ...	runs it as a user with tight limits
 *
 * musl's own sched_setscheduler() does nothing.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER 1000

static void limit(int what, rlim_t most)
{
	const struct rlimit tight = { most, most };

	if (setrlimit(what, &tight))
		printf("@ failed: limit %d: %m\n", what);
}

static int run_limited(char **words)
{
	limit(RLIMIT_RTPRIO, 0);
	limit(RLIMIT_MEMLOCK, 65536);
	limit(RLIMIT_RTTIME, 200000);
	if (setgid(USER) || setuid(USER))
		printf("@ failed: cannot be user %d: %m\n", USER);
	execv(words[0], words);
	printf("@ failed: %s: %m\n", words[0]);
	return 1;
}

static int named(pid_t tid, const char *start)
{
	char path[32], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(name, sizeof(name), file))
		*name = '\0';
	fclose(file);
	return !strncmp(name, start, strlen(start));
}

int main(int argc, char **argv)
{
	struct sched_param parameter;
	struct dirent *entry;
	int count = 0;
	DIR *proc;

	if (argc > 2 && !strcmp(argv[1], "--limited"))
		return run_limited(argv + 2);
	if (argc != 3)
		return 2;
	parameter.sched_priority = atoi(argv[2]);
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);
		int policy = parameter.sched_priority ? SCHED_FIFO : SCHED_OTHER;

		if (isdigit((unsigned char)*entry->d_name) && named(pid, argv[1]))
			count += !syscall(SYS_sched_setscheduler, pid, policy, &parameter);
	}
	if (!count)
		printf("@ failed: nobody is called %s\n", argv[1]);
	return !count;
}
