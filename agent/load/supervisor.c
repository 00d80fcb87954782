// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting loads, supervising them, ending them.
 *
 * The supervisor is the agent's only child among the processes of the loads. The
 * agent holds the only writing end of a pipe, so its death, by whatever signal,
 * is the pipe's end of file: the supervisor then ends the group leader and removes
 * the scratch directory. The leader reads the same pipe, and one from the
 * supervisor, so that it does both also if the supervisor was killed. The kernel
 * is not asked for a signal at the agent's death: it sends that when the thread
 * that forked ends, which need not be the agent's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/set.h"
#include "proc/cpus.h"

#define LEADER_END_NS	(1500 * NSEC_PER_MSEC) /* longer than the leader's own limits */
#define ORPHANS_END_NS	(300 * NSEC_PER_MSEC)
#define TIMER_SLACK_NS	50000UL /* the kernel's own */
#define SUPERVISOR_NICE (-20)
#define FDS_MAX		4096

/* Both ends are above the standard streams, which the first program of a board may lack. */
static int make_pipe(int ends[2])
{
	int low[2];
	int result = 0;

	if (pipe2(low, O_CLOEXEC) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (ends[i] < 0)
			result = -1;
	}
	close(low[0]);
	close(low[1]);
	if (result < 0) {
		close(ends[0] < 0 ? ends[1] : ends[0]);
		return -1;
	}
	return 0;
}

/* The loads do not inherit the agent's policy, signals, terminal and files. */
static void detach(struct load_set *set, int lifeline)
{
	struct sched_param other = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t child;

	setsid();
	prctl(PR_SET_NAME, "rtscope-loads");
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &other); /* musl's only fails */
	setpriority(PRIO_PROCESS, 0, 0);
	if (getpriority(PRIO_PROCESS, 0) != 0)
		message_leave(&set->shared->priority, "load-priority",
			      "the loads run at nice %d, for this user may not raise them to 0",
			      getpriority(PRIO_PROCESS, 0));
	/* Supervisor and leader must run despite a thousand workers, which return to 0. */
	setpriority(PRIO_PROCESS, 0, SUPERVISOR_NICE);
	if (set->cpus.count)
		cpus_allow(&set->cpus);
	else
		cpus_unpin();
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGTERM, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null >= 0 ? null : lifeline, fd);
	for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++) {
		if (fd != lifeline && fd != set->lock)
			close(fd);
	}
}

static void on_child(int signal)
{
	(void)signal;
}

static void end_leader(pid_t leader, bool contained)
{
	uint64_t end_ns = clock_now_ns() + LEADER_END_NS;

	while (waitpid(leader, NULL, WNOHANG) == 0) {
		if (clock_now_ns() >= end_ns)
			kill(leader, SIGKILL);
		wait_for_end(NULL, 0, 20 * NSEC_PER_MSEC);
	}
	if (!contained)
		children_kill(false, ORPHANS_END_NS);
}

static _Noreturn void supervisor_main(struct load_set *set, int lifeline)
{
	struct sigaction action = { .sa_handler = on_child };
	struct lifelines lifelines = { .agent = lifeline };
	bool contained = false;
	pid_t leader;
	int own[2];

	detach(set, lifeline);
	sigaction(SIGCHLD, &action, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	leader = make_pipe(own);
	if (leader == 0) {
		lifelines.supervisor = own[0];
		leader = group_fork(set, &lifelines, own[1], &contained);
		close(own[0]);
	}
	if (leader < 0)
		message_leave(&set->shared->failure, "load-failed",
			      "the loads' first process cannot be started: %s", strerror(errno));
	set->shared->leader = leader;
	while (!wait_for_end(&lifeline, 1, 0)) {
		if (leader > 0 && waitpid(leader, NULL, WNOHANG) == leader) {
			message_leave(&set->shared->failure, "load-failed",
				      "all loads have ended, because their first process was killed");
			leader = -1;
			if (!contained)
				children_kill(false, ORPHANS_END_NS);
		}
	}
	close(own[1]);
	if (leader > 0)
		end_leader(leader, contained);
	scratch_remove(set);
	_exit(0);
}

static int fork_supervisor(struct load_set *set)
{
	int ends[2];

	if (make_pipe(ends) < 0)
		return -1;
	prctl(PR_GET_CHILD_SUBREAPER, &set->was_subreaper);
	/* If the supervisor is killed, its children become ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	set->supervisor = fork();
	if (set->supervisor == 0)
		supervisor_main(set, ends[0]);
	close(ends[0]);
	set->lifeline = ends[1];
	if (set->supervisor < 0) {
		int reason = errno;

		load_set_stop(set);
		errno = reason;
		return -1;
	}
	return 0;
}

static int make_shared(struct load_set *set)
{
	void *memory;

	if (set->shared)
		munmap(set->shared, set->shared_size);
	set->shared = NULL;
	set->shared_size = sizeof(*set->shared) + set->lines * sizeof(struct worker_line);
	memory = mmap(NULL, set->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	set->shared = memory;
	return 0;
}

/* Without a directory only the loads that work in one cannot run. */
static void make_directory(struct load_set *set)
{
	char error[256];
	bool needed = false;

	set->lock = -1;
	*set->scratch = '\0';
	for (unsigned int i = 0; i < set->size; i++)
		needed |= set->part[i].load->needs_directory;
	if (!needed || scratch_make(set, error, sizeof(error)) == 0)
		return;
	for (unsigned int i = 0; i < set->size; i++) {
		if (set->part[i].load->needs_directory && !set->part[i].load->external)
			message_leave(&set->shared->status[i].failure, "load-failed",
				      "load %s: it %s", set->part[i].name, error);
	}
}

static bool supervisor_alive(const struct load_set *set, char *text, size_t size)
{
	const char *failure = message_text(&set->shared->failure);
	pid_t gone = waitpid(set->supervisor, NULL, WNOHANG);

	if (gone == set->supervisor || (gone < 0 && errno == ECHILD))
		failure = "all loads have ended, because their supervisor was killed";
	if (failure)
		snprintf(text, size, "%s", failure);
	return !failure;
}

/* Returns 1 if all work, 0 if some do not yet, -1 with a sentence if one cannot. */
static int check_workers(struct load_set *set, void (*warn)(const char *code, const char *text),
			 char *error, size_t error_size)
{
	int result = 1;

	for (unsigned int i = 0; i < set->size; i++) {
		struct part *part = &set->part[i];
		const char *failure = message_text(&set->shared->status[i].failure);
		const struct worker_line *line = &set->shared->line[part->first_line];

		if (part->left_out)
			continue;
		if (failure && part->optional) {
			char text[sizeof(struct message)];

			part->left_out = true;
			snprintf(text, sizeof(text), "mixed runs without one of its parts: %s",
				 failure);
			warn("load-missing", text);
			continue;
		}
		if (failure) {
			snprintf(error, error_size, "%s", failure);
			return -1;
		}
		for (unsigned int worker = 0; worker < part->strength || !worker; worker++)
			result &= line[worker].ready;
	}
	return result;
}

static void pass_on(const struct message *message, void (*warn)(const char *, const char *))
{
	if (message_text(message))
		warn(message->code, message->text);
}

/* The agent blocks these signals and handles them later; waiting for loads ends at once. */
static bool interrupted(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

/* Workers stop polling their command, which would disturb the measurement. */
static void give_up_waiting(struct load_set *set, uint64_t timeout_ns,
			    void (*warn)(const char *code, const char *text))
{
	for (unsigned int i = 0; i < set->size; i++) {
		const struct part *part = &set->part[i];
		struct worker_line *line = &set->shared->line[part->first_line];
		unsigned int late = 0;
		char text[512];

		for (unsigned int worker = 0; worker < part->strength || !worker; worker++) {
			late += !line[worker].ready;
			line[worker].ready = true;
		}
		if (!late || part->left_out)
			continue;
		snprintf(text, sizeof(text),
			 part->load->external ?
				 "load %.200s: its processes had hardly used a CPU after %.1f s, when the measurement began" :
				 "load %.200s: not every worker had begun to work after %.1f s, when the measurement began",
			 part->name, (double)timeout_ns / NSEC_PER_SEC);
		warn("load-slow", text);
	}
}

int load_set_start(struct load_set *set, uint64_t timeout_ns,
		   void (*warn)(const char *code, const char *text), char *error, size_t error_size)
{
	const struct timespec pause = ns_to_timespec(NSEC_PER_MSEC);
	uint64_t end_ns = clock_now_ns() + timeout_ns;
	int all = 0;

	if (!set->size || set->lifeline >= 0)
		return 0;
	if (make_shared(set) < 0) {
		snprintf(error, error_size, "cannot share memory with the loads: %s",
			 strerror(errno));
		return -1;
	}
	make_directory(set);
	if (fork_supervisor(set) < 0) {
		snprintf(error, error_size, "cannot start the loads: %s", strerror(errno));
		return -1;
	}
	for (;;) {
		all = supervisor_alive(set, error, error_size) ?
			      check_workers(set, warn, error, error_size) :
			      -1;
		if (!all && interrupted()) {
			snprintf(error, error_size, "interrupted while the loads started");
			all = -1;
		}
		if (all || clock_now_ns() >= end_ns)
			break;
		nanosleep(&pause, NULL);
	}
	if (all < 0) {
		load_set_stop(set);
		return -1;
	}
	if (!all)
		give_up_waiting(set, timeout_ns, warn);
	pass_on(&set->shared->containment, warn);
	pass_on(&set->shared->priority, warn);
	for (unsigned int i = 0; i < set->size; i++)
		pass_on(&set->shared->status[i].warning, warn);
	return 0;
}

bool load_set_alive(struct load_set *set, char *text, size_t size)
{
	if (set->lifeline < 0)
		return true;
	if (!supervisor_alive(set, text, size))
		return false;
	for (unsigned int i = 0; i < set->size; i++) {
		const char *failure = message_text(&set->shared->status[i].failure);

		if (failure && !set->part[i].left_out) {
			snprintf(text, size, "%s", failure);
			return false;
		}
	}
	return true;
}

void load_set_stop(struct load_set *set)
{
	pid_t leader;

	if (set->lifeline < 0)
		return;
	close(set->lifeline);
	set->lifeline = -1;
	while (set->supervisor > 0 && waitpid(set->supervisor, NULL, 0) < 0 && errno == EINTR)
		;
	leader = set->shared->leader;
	while (leader > 0 && waitpid(leader, NULL, 0) < 0 && errno == EINTR)
		;
	scratch_remove(set);
	if (set->lock >= 0)
		close(set->lock);
	set->lock = -1;
	prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)set->was_subreaper);
}
