// SPDX-License-Identifier: GPL-2.0-only
/*
 * The group leader: the parent of all workers. It is the first process of a PID
 * namespace, so that its end, whatever the cause, ends everything that the loads
 * have started, daemons of daemons too. If the kernel gives no namespace, the
 * leader reaps orphans instead and finds them in /proc.
 *
 * It ends when the agent or the supervisor has ended. It does not ask the kernel
 * for a signal at its parent's death: that would end it before it has cleaned up.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/file.h"
#include "load/set.h"
#include "proc/processes.h"

#define GRACE_NS (500 * NSEC_PER_MSEC) /* for commands to clean up */
#define KILL_NS	 (1000 * NSEC_PER_MSEC)
#define POLL_NS	 (2 * NSEC_PER_MSEC)

bool wait_for_end(const int *fds, unsigned int count, uint64_t timeout_ns)
{
	struct timespec timeout = ns_to_timespec(timeout_ns);
	struct pollfd end[2] = { 0 };
	sigset_t none;

	for (unsigned int i = 0; i < count; i++)
		end[i].fd = fds[i];
	sigemptyset(&none);
	return ppoll(end, count, timeout_ns ? &timeout : NULL, &none) > 0;
}

/* A command that reads its own /proc/PID must find itself. The mount is not visible outside. */
static void mount_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static _Noreturn void work(struct worker *worker)
{
	/* If memory runs out, the kernel kills the loads first. */
	file_put(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
	worker_seed(worker);
	if (worker->load->setup && worker->load->setup(worker) < 0)
		_exit(1);
	while (worker->load->step(worker) == 0)
		worker->line->ready = true;
	_exit(1);
}

/* File descriptors that a worker inherits and has to close. */
struct inherited {
	int agent, supervisor, lock;
	int gate[2]; /* its end of file starts the worker */
};

static pid_t start_worker(struct worker *worker, const struct inherited *inherited)
{
	pid_t pid = worker_fork();
	char name[16], sign;
	sigset_t none;

	if (pid < 0)
		worker_fail(worker, "cannot start worker %u: %s; ask for fewer workers",
			    worker->index + 1, strerror(errno));
	if (pid != 0)
		return pid;
	snprintf(name, sizeof(name), "load-%s", worker->load->name);
	prctl(PR_SET_NAME, name);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, 0);
	close(inherited->agent);
	close(inherited->supervisor);
	if (inherited->lock >= 0)
		close(inherited->lock);
	close(inherited->gate[1]);
	while (read(inherited->gate[0], &sign, 1) < 0 && errno == EINTR)
		;
	close(inherited->gate[0]);
	work(worker);
}

static void start_part(struct load_set *set, unsigned int index, pid_t *pids,
		       const struct inherited *inherited)
{
	struct part *part = &set->part[index];
	char directory[PATH_MAX + 16] = "";
	struct worker worker = {
		.load = part->load,
		.strength = part->strength ? part->strength : 1,
		.seed = set->seed,
		.argument = part->argument,
		.directory = directory,
		.status = &set->shared->status[index],
		.line = &set->shared->line[part->first_line],
	};

	if (message_text(&worker.status->failure))
		return;
	if (part->load->needs_directory && *set->scratch) {
		snprintf(directory, sizeof(directory), "%s/%u", set->scratch, index);
		if (mkdir(directory, 0700) < 0) {
			worker_fail(&worker, "cannot make %s: %s", directory, strerror(errno));
			return;
		}
	}
	if (part->load->prepare) {
		worker_seed(&worker);
		if (part->load->prepare(&worker) < 0)
			return;
	}
	for (; worker.index < worker.strength; worker.index++, worker.line++) {
		pids[part->first_line + worker.index] = start_worker(&worker, inherited);
		if (pids[part->first_line + worker.index] < 0)
			return;
	}
}

/* All workers begin at once, so that the first do not keep the last from being forked. */
static void start_parts(struct load_set *set, pid_t *pids, const struct lifelines *lifelines)
{
	struct inherited inherited = {
		.agent = lifelines->agent,
		.supervisor = lifelines->supervisor,
		.lock = set->lock,
	};

	if (!pids || pipe2(inherited.gate, O_CLOEXEC) < 0) {
		message_leave(&set->shared->failure, "load-failed",
			      "the loads cannot be started: %s; ask for fewer workers",
			      strerror(errno));
		return;
	}
	for (unsigned int i = 0; i < set->size; i++)
		start_part(set, i, pids, &inherited);
	close(inherited.gate[0]);
	close(inherited.gate[1]);
}

static void note_death(struct load_set *set, const pid_t *pids, pid_t pid, int status)
{
	unsigned int line = 0, index = 0;

	while (line < set->lines && pids[line] != pid)
		line++;
	if (line == set->lines)
		return;
	while (index + 1 < set->size && set->part[index + 1].first_line <= line)
		index++;
	if (WIFSIGNALED(status))
		message_leave(&set->shared->status[index].failure, "load-failed",
			      "load %s: a worker was killed by signal %d (%s)",
			      set->part[index].name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		message_leave(&set->shared->status[index].failure, "load-failed",
			      "load %s: a worker ended with exit status %d", set->part[index].name,
			      WEXITSTATUS(status));
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
}

/* False when there is no child any more. */
static bool reap(void)
{
	pid_t pid;

	do {
		pid = waitpid(-1, NULL, WNOHANG);
	} while (pid > 0);
	return pid == 0;
}

void children_kill(bool contained, uint64_t timeout_ns)
{
	uint64_t end_ns = clock_now_ns() + timeout_ns;

	while (reap() && clock_now_ns() < end_ns) {
		/* -1 is every process of the namespace: be sure that this is its first. */
		if (contained && getpid() == 1 && getppid() == 0)
			kill(-1, SIGKILL);
		else
			processes_each_child(end_child); /* their children become ours */
		wait_for_end(NULL, 0, POLL_NS);
	}
}

/* Commands may have something to clean up outside of their directory. */
static void ask_to_end(const struct load_set *set, bool contained)
{
	uint64_t end_ns = clock_now_ns() + GRACE_NS;
	bool any = false;

	for (unsigned int i = 0; i < set->size; i++)
		any |= set->part[i].load->external;
	if (!any)
		return;
	/* 0 is the supervisor's process group; supervisor and leader ignore the signal. */
	kill(contained && getpid() == 1 && getppid() == 0 ? -1 : 0, SIGTERM);
	while (reap() && clock_now_ns() < end_ns)
		wait_for_end(NULL, 0, POLL_NS);
}

static _Noreturn void leader_main(struct load_set *set, const struct lifelines *lifelines,
				  bool contained)
{
	const int fds[] = { lifelines->agent, lifelines->supervisor };
	pid_t *pids = calloc(set->lines, sizeof(*pids));
	int status;
	pid_t pid;

	prctl(PR_SET_NAME, "rtscope-leader");
	if (contained)
		mount_proc();
	else
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_parts(set, pids, lifelines);
	while (!wait_for_end(fds, 2, 0)) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			note_death(set, pids, pid, status);
	}
	ask_to_end(set, contained);
	for (unsigned int i = 0; pids && !contained && i < set->lines; i++) {
		/* The number of a worker that was waited for may be another process' by now. */
		if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) == 0)
			kill(pids[i], SIGKILL);
	}
	children_kill(contained, KILL_NS);
	scratch_remove(set);
	_exit(0);
}

static bool map_user(pid_t pid)
{
	char path[48], map[32];
	struct {
		const char *file;
		unsigned int id;
	} maps[] = { { "uid_map", geteuid() }, { "gid_map", getegid() } };

	snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	file_put(AT_FDCWD, path, "deny"); /* else gid_map may be refused */
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, maps[i].file);
		snprintf(map, sizeof(map), "%u %u 1", maps[i].id, maps[i].id);
		if (!file_put(AT_FDCWD, path, map))
			return false;
	}
	return true;
}

pid_t group_fork(struct load_set *set, const struct lifelines *lifelines, int supervisor_end,
		 bool *contained)
{
	static const unsigned long kinds[] = {
		CLONE_NEWPID | CLONE_NEWNS,
		CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS,
		0,
	};
	pid_t pid = -1;
	char go = 0;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*contained = kinds[i] != 0;
		if (!*contained)
			message_leave(&set->shared->containment, "load-containment",
				      "the kernel gives no PID namespace here (%s): a command that made itself a daemon survives if the agent and both processes that supervise the loads are killed at once; run as root on a kernel with CONFIG_PID_NS",
				      strerror(errno));
		pid = (pid_t)syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			close(supervisor_end);
			if (read(lifelines->supervisor, &go, 1) != 1)
				_exit(1);
			leader_main(set, lifelines, *contained);
		}
		if (pid > 0 && (!(kinds[i] & CLONE_NEWUSER) || map_user(pid)))
			break;
		if (pid > 0) {
			int reason = errno;

			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			errno = reason;
			pid = -1;
		}
	}
	if (pid > 0 && write(supervisor_end, &go, 1) != 1)
		return -1;
	return pid;
}
