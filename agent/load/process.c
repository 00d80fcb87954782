// SPDX-License-Identifier: GPL-2.0-only
/*
 * process: fork, a storm of page faults, exec, exit, wait, as a compiler's
 * driver does all day: page tables, the memory allocator, run queues.
 *
 * What is executed is this very program, since a board may hold no other. It
 * knows itself by a name in its environment and ends before main().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/worker.h"

#define MARK	    "RTSCOPE_LOAD_EXEC"
#define STORM_BYTES (1024 * 1024)
#define CANNOT_EXEC 77

__attribute__((constructor)) static void end_if_executed_by_the_load(void)
{
	if (getenv(MARK))
		_exit(0);
}

static void raise_storm(void)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *memory =
		mmap(NULL, STORM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	madvise((void *)memory, STORM_BYTES, MADV_NOHUGEPAGE);
	for (long at = 0; at < STORM_BYTES; at += page)
		memory[at] = 1;
}

static void execute_self(void)
{
	char *const arguments[] = { "rtscope-load", NULL };
	char *const environment[] = { MARK "=1", NULL };

	execve("/proc/self/exe", arguments, environment);
	execve((const char *)getauxval(AT_EXECFN), arguments, environment);
}

static int step(struct worker *worker)
{
	struct rusage usage;
	int status;
	pid_t pid = worker_fork();

	if (pid == 0) {
		raise_storm();
		execute_self();
		_exit(CANNOT_EXEC);
	}
	if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
		return worker_fail(worker, "cannot fork: %s", strerror(errno));
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 0;
	worker_count(worker, 0, 1);
	worker_count(worker, 2, (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		worker_count(worker, 1, 1);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_EXEC)
		worker_warn(worker, "load-degraded",
			    "it forks but cannot execute itself again, for /proc is not mounted and its own file is gone");
	return 0;
}

const struct load load_process = {
	.name = "process",
	.help = "fork, page faults, exec and exit, as a compile does",
	.unit = { "forks", "execs", "page_faults" },
	.step = step,
};
