// SPDX-License-Identifier: GPL-2.0-only
/*
 * stress-ng:ARGS and cmd:COMMAND: what is installed, as a load.
 *
 * The one worker stays the command's parent and the reaper of all that it
 * leaves behind, so the load has ended when its last process has, also when it
 * made itself a daemon. Its output is dropped, except for the last line of
 * its standard error, which is the reason if it ended early.
 *
 * A command does not report when it works, and just after its start it does
 * nothing yet. It counts as started once its processes have used more CPU time
 * than starting a shell and a program takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/processes.h"
#include "load/arguments.h"
#include "load/worker.h"

#define WORDS_MAX  255
#define TAIL_BYTES 160
#define UP_CPU_NS  (50 * NSEC_PER_MSEC)
#define POLL_MS	   20

struct external_state {
	pid_t child;
	int status;
	int errors; /* what the command writes there */
	uint64_t start_ns;
	size_t tail_size;
	char tail[TAIL_BYTES + 1];
	char *word[3 + WORDS_MAX + 1];
};

static void wake(int signal)
{
	(void)signal;
}

/* In the child: become the command, or leave the reason in @report. */
static void execute(const struct worker *worker, char **word, int errors, int report)
{
	int reason;

	dup2(errors, STDERR_FILENO);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	if (*worker->directory)
		setenv("TMPDIR", worker->directory, 1);
	execvp(word[0], word);
	reason = errno;
	if (write(report, &reason, sizeof(reason)) < 0)
		_exit(126);
	_exit(127);
}

/* Start the command; returns 0, or the errno of what failed. */
static int start(struct worker *worker, struct external_state *state)
{
	int errors[2], report[2], reason = 0;

	if (pipe2(errors, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return errno;
	state->child = worker_fork();
	if (state->child < 0)
		return errno;
	if (state->child == 0)
		execute(worker, state->word, errors[1], report[1]);
	close(errors[1]);
	close(report[1]);
	if (read(report[0], &reason, sizeof(reason)) < 0)
		reason = errno;
	close(report[0]);
	state->errors = errors[0];
	return reason;
}

static struct external_state *new_state(struct worker *worker)
{
	struct external_state *state = worker_alloc(worker, sizeof(*state));
	struct sigaction action = { .sa_handler = wake };

	if (!state)
		return NULL;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* The command gets this signal too, and this process has to reap it. */
	signal(SIGTERM, SIG_IGN);
	sigaction(SIGCHLD, &action, NULL);
	state->start_ns = clock_now_ns();
	worker->state = state;
	return state;
}

static int setup_cmd(struct worker *worker)
{
	struct external_state *state = new_state(worker);
	int reason;

	if (!state)
		return -1;
	state->word[0] = "/bin/sh";
	state->word[1] = "-c";
	state->word[2] = (char *)worker->argument;
	reason = start(worker, state);
	if (reason)
		return worker_fail(worker, "cannot start /bin/sh: %s", strerror(reason));
	return 0;
}

static int setup_stress_ng(struct worker *worker)
{
	struct external_state *state = new_state(worker);
	char *text = strdup(worker->argument);
	char **word = state ? state->word : NULL;
	int reason;

	if (!state || !text)
		return worker_fail(worker, "out of memory");
	*word++ = "stress-ng";
	if (*worker->directory) {
		*word++ = "--temp-path";
		*word++ = (char *)worker->directory;
	}
	arguments_split(text, word, WORDS_MAX);
	reason = start(worker, state);
	if (reason == ENOENT)
		return worker_fail(worker,
				   "stress-ng is not installed here: run 'apt install stress-ng', or use another load");
	if (reason)
		return worker_fail(worker, "cannot start stress-ng: %s", strerror(reason));
	return 0;
}

/* False when nothing of the command is left. */
static bool reap(struct external_state *state, int flags)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, flags)) > 0 || (pid < 0 && errno == EINTR)) {
		if (pid == state->child)
			state->status = status;
	}
	return pid == 0;
}

static void keep_tail(struct external_state *state, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool ended = !state->tail_size || state->tail[state->tail_size - 1] == '\n';

		if (ended && text[i] == '\n')
			continue;
		if (ended || state->tail_size == TAIL_BYTES)
			state->tail_size = 0;
		state->tail[state->tail_size++] = text[i];
	}
}

static const char *last_line(struct external_state *state)
{
	while (state->tail_size && state->tail[state->tail_size - 1] == '\n')
		state->tail_size--;
	state->tail[state->tail_size] = '\0';
	for (char *c = state->tail; *c; c++) {
		if ((unsigned char)*c < ' ')
			*c = ' ';
	}
	return state->tail;
}

/* Take what the command has written, waiting for it. False when it will write no more. */
static bool read_errors(struct external_state *state)
{
	char text[512];
	ssize_t got = read(state->errors, text, sizeof(text));

	if (got > 0)
		keep_tail(state, text, (size_t)got);
	return got > 0 || (got < 0 && errno == EINTR);
}

/* Until the command works, has ended, or the agent waits for it no longer. */
static void await_work(struct worker *worker, struct external_state *state)
{
	struct pollfd errors = { .fd = state->errors, .events = POLLIN };

	while (!worker->line->ready && reap(state, WNOHANG)) {
		if (poll(&errors, 1, POLL_MS) > 0 && !read_errors(state))
			errors.fd = -1;
		if (processes_cpu_ns() >= UP_CPU_NS)
			worker->line->ready = true;
	}
}

/* Comes back only when nothing of the command is left. */
static int step(struct worker *worker)
{
	struct external_state *state = worker->state;
	const char *line;
	char how[64];

	await_work(worker, state);
	while (read_errors(state))
		reap(state, WNOHANG);
	reap(state, 0);
	if (WIFSIGNALED(state->status))
		snprintf(how, sizeof(how), "by signal %d (%s)", WTERMSIG(state->status),
			 strsignal(WTERMSIG(state->status)));
	else
		snprintf(how, sizeof(how), "with exit status %d", WEXITSTATUS(state->status));
	line = last_line(state);
	return worker_fail(worker, "it ended by itself %s after %.1f s%s%s", how,
			   (double)(int64_t)(clock_now_ns() - state->start_ns) / 1e9,
			   *line ? ": " : "", line);
}

const struct load load_stress_ng = {
	.name = "stress-ng",
	.help = "stress-ng:ARGS runs the installed stress-ng",
	.external = true,
	.needs_directory = true,
	.setup = setup_stress_ng,
	.step = step,
};

const struct load load_cmd = {
	.name = "cmd",
	.help = "cmd:COMMAND runs a command by /bin/sh",
	.external = true,
	.needs_directory = true,
	.setup = setup_cmd,
	.step = step,
};
