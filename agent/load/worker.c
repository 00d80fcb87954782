// SPDX-License-Identifier: GPL-2.0-only
/* The functions that loads use in their workers. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "load/worker.h"

enum { MESSAGE_NONE, MESSAGE_BEING_WRITTEN, MESSAGE_WRITTEN };

/* The finisher of splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t scramble(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void worker_seed(struct worker *worker)
{
	uint64_t x = scramble(worker->seed);

	for (const char *c = worker->load->name; *c; c++)
		x = scramble(x ^ (unsigned char)*c);
	x = scramble(x ^ worker->index);
	worker->random = x ? x : 1;
	worker->check = 0xcbf29ce484222325ULL;
}

static void leave(struct message *message, const char *code, const char *prefix, const char *format,
		  va_list arguments)
{
	int none = MESSAGE_NONE;
	int used;

	if (!atomic_compare_exchange_strong(&message->state, &none, MESSAGE_BEING_WRITTEN))
		return;
	snprintf(message->code, sizeof(message->code), "%s", code);
	used = snprintf(message->text, sizeof(message->text), "%s%s%s", *prefix ? "load " : "",
			prefix, *prefix ? ": " : "");
	vsnprintf(message->text + used, sizeof(message->text) - (size_t)used, format, arguments);
	atomic_store(&message->state, MESSAGE_WRITTEN);
}

void message_leave(struct message *message, const char *code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	leave(message, code, "", format, arguments);
	va_end(arguments);
}

const char *message_text(const struct message *message)
{
	return atomic_load(&message->state) == MESSAGE_WRITTEN ? message->text : NULL;
}

int worker_fail(struct worker *worker, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	leave(&worker->status->failure, "load-failed", worker->load->name, format, arguments);
	va_end(arguments);
	return -1;
}

void worker_warn(struct worker *worker, const char *code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	leave(&worker->status->warning, code, worker->load->name, format, arguments);
	va_end(arguments);
}

void *worker_alloc(struct worker *worker, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	worker_fail(worker, "cannot allocate %zu KiB of memory: %s; ask for fewer workers",
		    size / 1024, strerror(errno));
	return NULL;
}

pid_t worker_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int worker_path(struct worker *worker, char path[PATH_MAX], const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", worker->directory, name) < PATH_MAX)
		return 0;
	return worker_fail(worker, "the path of its directory is too long: %.200s",
			   worker->directory);
}
