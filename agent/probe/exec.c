// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec: how long a command takes on the CPUs it is given.
 *
 * The command is run again and again; the latency recorded is the time from the
 * fork until it has ended. It may use the CPUs of the measurement and no others,
 * is of ordinary priority unless asked otherwise, and gets no input. What it writes to
 * standard output is dropped; if it fails, the measurement ends
 * with the last line it wrote to standard error. Each run has a process group of its
 * own, of which nothing is left when the next begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/probe.h"
#include "session/session.h"

#define TIMER_SLACK_NS	50000UL /* the kernel's own */
#define NOT_STARTED	127	/* exit status, as a shell's */
#define LAST_WORDS_SIZE 256

static struct {
	char **words; /* NULL-terminated */
	struct cpus cpus;
	int errors; /* a file in memory that takes its standard error */
	uint64_t cpu_ns;
	char failure[LAST_WORDS_SIZE + 128];
} command;

/* No wake-up is measured, so idle states stay as in production. */
static const struct option_preset presets[] = {
	{ "idle-states", "default" },
	{ "policy", "other" },
	{ "interval", NULL },
	{ 0 },
};

static void describe(struct json *json)
{
	char text[1024];
	size_t used = 0;

	for (char **word = command.words; *word && used < sizeof(text) - 1; word++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
					 *word);
	json_string(json, "command", text);
}

static void measure(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	if (!session->command)
		return options_refuse(error, error_size, "",
				      "there is no command to be measured: write rtscope-agent exec -- COMMAND [ARGUMENT...]");
	if (session->policy == POLICY_DEADLINE)
		return options_refuse(error, error_size, "policy",
				      "exec gives the command some CPUs, which SCHED_DEADLINE does not allow: measure with --policy other or fifo");
	command.words = session->command;
	command.cpus = *cpus;
	roles[0] = (struct role){
		.name = "",
		.body = measure,
		.cpu = -1,
		.priority = session->priority,
	};
	return 1;
}

/* The child, which becomes the command. */
static _Noreturn void become(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(command.errors, STDERR_FILENO);
	if (!cpus_allow(&command.cpus))
		execvp(command.words[0], command.words);
	dprintf(STDERR_FILENO, "%s\n", strerror(errno));
	_exit(NOT_STARTED);
}

/* The last line that the command wrote to standard error, for a person; "" where there is none. */
static void last_words(char *text, size_t size)
{
	off_t end = lseek(command.errors, 0, SEEK_END);
	off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
	ssize_t got = pread(command.errors, text, size - 1, from);
	char *line;

	if (got < 0)
		got = 0;
	while (got && text[got - 1] == '\n')
		got--;
	text[got] = '\0';
	line = strrchr(text, '\n');
	if (line)
		memmove(text, line + 1, strlen(line));
}

static void explain_failure(int status)
{
	char words[LAST_WORDS_SIZE], how[64];

	last_words(words, sizeof(words));
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == NOT_STARTED)
		snprintf(how, sizeof(how), "could not be started");
	else
		snprintf(how, sizeof(how), "ended with exit status %d", WEXITSTATUS(status));
	snprintf(command.failure, sizeof(command.failure), "%.60s %s%s%s", command.words[0], how,
		 *words ? ": " : "", words);
}

/* Wait until the command has ended, and end it where the measurement ends before. */
static int await(const struct measuring *measuring, pid_t child, uint64_t *end_ns)
{
	struct rusage used;
	siginfo_t ended;
	int status;

	while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) && errno == EINTR) {
		if (!record_get(measuring->control->until_ns))
			kill(-child, SIGKILL);
	}
	*end_ns = clock_now_ns();
	kill(-child, SIGKILL); /* what it has left in its group */
	while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
		;
	command.cpu_ns +=
		((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * NSEC_PER_SEC +
		((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * NSEC_PER_USEC;
	return status;
}

/* Run the command once; false where it failed or the measurement is over. */
static bool run(struct measuring *measuring)
{
	uint64_t start_ns = clock_now_ns(), end_ns;
	pid_t child = fork();
	int status;

	if (!child)
		become();
	if (child < 0) {
		measuring->error = errno;
		return false;
	}
	setpgid(child, child);
	status = await(measuring, child, &end_ns);
	if (!record_get(measuring->control->until_ns))
		return false;
	if (status) {
		explain_failure(status);
		measuring->failure = command.failure;
		measuring->error = ECHILD;
		return false;
	}
	record_add(&measuring->record, start_ns, end_ns);
	return !measuring->record.threshold_reached;
}

static void measure(struct measuring *measuring)
{
	command.errors = memfd_create("stderr", MFD_CLOEXEC);
	while (measuring_goes_on(measuring, clock_now_ns())) {
		if (ftruncate(command.errors, 0))
			lseek(command.errors, 0, SEEK_SET);
		if (!run(measuring))
			break;
	}
	close(command.errors);
	if (measuring->record.count)
		measuring_metric(measuring, "cpu_ns",
				 (double)command.cpu_ns / (double)measuring->record.count);
}

static const char *const metrics[] = { "cpu_ns", NULL };

const struct probe exec_probe = {
	.name = "exec",
	.summary = "how long a command takes on some CPUs",
	.help = "Execution time of COMMAND on the given CPUs, each time it is run.\n"
		"\n"
		"COMMAND gets the scheduling policy as well. A COMMAND that fails ends the measurement.\n",
	.examples = "  rtscope-agent exec -l 10 -- ./app --threads 2\n"
		    "  rtscope-agent exec -a 0,2 -l 10 --load memory --load-cpus 1,3 -- ./app\n",
	.takes_command = true,
	.presets = presets,
	.describe = describe,
	.metrics = metrics,
	.plan = plan,
};
