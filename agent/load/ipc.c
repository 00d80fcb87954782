// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipc: hackbench's pattern. A worker leads a group in which every sender
 * writes 100-byte messages to every receiver for ever: wake-ups, run queues,
 * and migrations. Even groups talk over socket pairs, odd ones over pipes.
 * The leader is the group's first receiver.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/worker.h"

#define SENDERS		5
#define RECEIVERS	5
#define MESSAGE_BYTES	100
#define MESSAGES_A_STEP 64

struct channel {
	int receiver, sender;
};

struct ipc_state {
	struct channel channel[RECEIVERS];
};

static int make_channel(struct worker *worker, struct channel *channel)
{
	int fd[2];

	if (worker->index % 2 ? pipe(fd) : socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		return worker_fail(worker, "cannot make a %s: %s",
				   worker->index % 2 ? "pipe" : "socket pair", strerror(errno));
	channel->receiver = fd[0];
	channel->sender = fd[1];
	return 0;
}

static void send_for_ever(const struct ipc_state *state)
{
	char message[MESSAGE_BYTES] = { 0 };

	for (;;) {
		for (int i = 0; i < RECEIVERS; i++) {
			if (write(state->channel[i].sender, message, sizeof(message)) < 0)
				_exit(1);
		}
	}
}

/* Receive a step's messages; they are counted by all receivers of the group. */
static int receive(struct worker *worker, const struct channel *channel)
{
	char message[MESSAGE_BYTES];
	size_t bytes = 0;

	while (bytes < MESSAGES_A_STEP * sizeof(message)) {
		ssize_t got = read(channel->receiver, message, sizeof(message));

		if (got <= 0)
			return -1;
		bytes += (size_t)got;
	}
	atomic_fetch_add_explicit(&worker->line->work[0], bytes / sizeof(message),
				  memory_order_relaxed);
	return 0;
}

static int start_member(struct worker *worker, const struct ipc_state *state, int member)
{
	pid_t pid = worker_fork();

	if (pid < 0)
		return worker_fail(worker,
				   "cannot fork a member of its group: %s; ask for fewer workers",
				   strerror(errno));
	if (pid > 0)
		return 0;
	if (member < SENDERS)
		send_for_ever(state);
	while (receive(worker, &state->channel[member - SENDERS]) == 0)
		;
	_exit(1);
}

static int setup(struct worker *worker)
{
	struct ipc_state *state = worker_alloc(worker, sizeof(*state));

	if (!state)
		return -1;
	for (int i = 0; i < RECEIVERS; i++) {
		if (make_channel(worker, &state->channel[i]) < 0)
			return -1;
	}
	for (int member = 0; member < SENDERS + RECEIVERS; member++) {
		if (member != SENDERS && start_member(worker, state, member) < 0)
			return -1;
	}
	worker->state = state;
	return 0;
}

static int step(struct worker *worker)
{
	const struct ipc_state *state = worker->state;

	if (receive(worker, &state->channel[0]) < 0)
		return worker_fail(worker, "a group cannot receive: %s", strerror(errno));
	if (waitpid(-1, NULL, WNOHANG) > 0)
		return worker_fail(worker, "a member of a group was killed");
	return 0;
}

const struct load load_ipc = {
	.name = "ipc",
	.help = "groups of senders and receivers over sockets and pipes, as hackbench",
	.strength = "groups of five senders and five receivers",
	.unit = { "messages" },
	.setup = setup,
	.step = step,
};
