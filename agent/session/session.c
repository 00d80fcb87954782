// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a session. The main thread is the housekeeping thread: it starts
 * everything, then wakes a few times a second to renew the lease, write
 * progress and empty the rings, and ends everything.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/options.h"
#include "proc/cpus.h"
#include "proc/throttling.h"
#include "session/checks.h"
#include "session/exceedances.h"
#include "session/explain.h"
#include "session/output.h"
#include "session/samples.h"
#include "session/signals.h"
#include "session/threads.h"
#include "session/trace_stop.h"

#define CHECK_NS	NSEC_PER_SEC
#define LOAD_TIMEOUT_NS (60 * NSEC_PER_SEC)
#define START_DELAY_NS	(10 * NSEC_PER_MSEC)
#define PIPE_SIZE	(1 << 20)
#define STATUS_WATCHDOG 3 /* exit status of a run that the watchdog ended */

static struct session session;

void session_warn(const char *code, const char *text)
{
	output_warning(&session, code, text);
}

static int fail(int status, const char *text)
{
	char before[64];

	snprintf(before, sizeof(before), "rtscope-agent %s: ", session.probe->name);
	output_complain(&session, before, text);
	return status;
}

/* Before the protocol's first line was written: write it, too. */
static int refuse(const char *text)
{
	struct json early = { .fd = STDOUT_FILENO };
	struct json *json = session.json.sink ? &session.json : &early;
	int status = fail(2, text);

	if (!session.options.json)
		return status;
	if (json == &early)
		hello_write(json);
	options_write_refusal(json, text);
	return status;
}

static int parse_cpus(char *error, size_t error_size)
{
	char reason[400];

	if (!cpus_parse(session.options.cpus, &session.usable, &session.cpus, reason,
			sizeof(reason)))
		return 0;
	return options_refuse(error, error_size, "cpus", "--cpus: %s", reason);
}

static int parse_loads(char *error, size_t error_size)
{
	struct cpus cpus = { 0 };
	char reason[400];

	if (session.options.load_cpus &&
	    cpus_parse(session.options.load_cpus, &session.usable, &cpus, reason, sizeof(reason))) {
		return options_refuse(error, error_size, "load-cpus", "--load-cpus: %s", reason);
	}
	session.loads = load_set_new(session.options.seed);
	if (!session.loads) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	load_set_limit_cpus(session.loads, &cpus);
	for (unsigned int i = 0; i < session.options.load_count; i++) {
		if (!load_set_parse(session.loads, session.options.loads[i], reason,
				    sizeof(reason)))
			continue;
		return options_refuse(error, error_size, "load", "--load: %s", reason);
	}
	return 0;
}

static int parse_tunes(char *error, size_t error_size)
{
	char reason[400];

	if (!tune_session_parse((char **)session.options.tunes, session.options.tune_count, reason,
				sizeof(reason)))
		return 0;
	return options_refuse(error, error_size, "tune", "%s", reason);
}

void measuring_metric(struct measuring *measuring, const char *key, double value)
{
	if (measuring->metric_count == PROBE_METRICS_MAX)
		return;
	measuring->metric[measuring->metric_count].key = key;
	measuring->metric[measuring->metric_count++].value = value;
}

/* A deadline may lie a whole swept interval ahead: that much more is granted. */
static void grant_lease(uint64_t now_ns)
{
	uint64_t until_ns =
		now_ns + session.options.watchdog_ns + 2 * threads_longest_interval_ns(&session);

	record_set(session.control.until_ns, until_ns < session.end_ns ? until_ns : session.end_ns);
}

static void set_start(uint64_t start_ns)
{
	session.start_ns = start_ns;
	session.end_ns =
		session.options.duration_ns ? start_ns + session.options.duration_ns : UINT64_MAX;
	for (unsigned int i = 0; i < session.threads; i++) {
		session.measuring[i].start_ns = session.start_ns;
		session.measuring[i].end_ns = session.end_ns;
		session.measuring[i].seen.cpu_checked_ns = session.start_ns;
	}
}

static bool counts_cpu(const struct measuring *measuring)
{
	return session.options.cpu_counts && measuring->role.cpu >= 0 && !measuring->role.silent;
}

static void add_cpu_counts(struct measuring *measuring)
{
	const struct cpu_counts *before = &measuring->at_start;
	struct cpu_counts now;

	cpu_counts_read((unsigned int)measuring->role.cpu, &now);
	measuring_metric(measuring, SESSION_METRIC_INTERRUPTS,
			 (double)(now.device_interrupts - before->device_interrupts));
	if (now.switches_known && before->switches_known)
		measuring_metric(measuring, SESSION_METRIC_SWITCHES,
				 (double)(now.switches - before->switches));
}

/*
 * Writing must not disturb the first samples. Where it takes longer than planned, or other programs
 * kept this one from its CPU, the start is put off and reported again, up to a second: a reader that
 * takes nothing is not waited for.
 */
static void begin_measuring(void)
{
	uint64_t delay_ns = START_DELAY_NS;
	struct load_work work;
	bool in_time;

	for (unsigned int i = 0; i < load_set_size(session.loads); i++) {
		load_set_read(session.loads, i, &work);
		memcpy(session.load_base[i], work.total, sizeof(work.total));
	}
	session.load_start_ns = clock_now_ns();
	session.high_resolution = realtime_high_resolution();
	for (unsigned int i = 0; i < session.threads; i++) {
		if (counts_cpu(&session.measuring[i]))
			cpu_counts_read((unsigned int)session.measuring[i].role.cpu,
					&session.measuring[i].at_start);
	}
	do {
		set_start(clock_now_ns() + delay_ns);
		output_start(&session);
		in_time = output_wait(&session, session.start_ns) &&
			  clock_now_ns() < session.start_ns;
		delay_ns *= 2;
	} while (!in_time && delay_ns < NSEC_PER_SEC);
	output_may_drop(&session, true);
	explain_start();
	grant_lease(clock_now_ns());
	threads_go();
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the status with which the session has to end. */
static const char *housekeep(void)
{
	const struct session_options *options = &session.options;
	uint64_t next_progress_ns = session.start_ns + options->progress_ns;
	uint64_t next_check_ns = session.start_ns + smaller(CHECK_NS, options->watchdog_ns);
	uint64_t tick_ns = smaller(session_tick_ns(), options->watchdog_ns / 4);
	const char *status;

	while (!(status = check_threads(&session))) {
		uint64_t slept_ns = clock_now_ns(), now_ns;
		struct timespec tick = ns_to_timespec(tick_ns);
		int number;

		if (options->progress_ns && next_progress_ns < slept_ns + tick_ns)
			tick = ns_to_timespec(next_progress_ns > slept_ns ?
						      next_progress_ns - slept_ns :
						      0);
		number = session_wait_for_signal(&tick);
		now_ns = clock_now_ns();
		if (session_is_ended_by(number) || !output_wanted(&session))
			return "interrupted";
		grant_lease(now_ns);
		check_stall(&session, now_ns - slept_ns);
		if (samples_are_due(&session))
			samples_drain(&session);
		explain_copy(&session);
		exceedances_take();
		if (options->progress_ns && now_ns >= next_progress_ns) {
			if (output_may_progress(&session, now_ns))
				output_progress(&session, now_ns);
			next_progress_ns += options->progress_ns;
			if (next_progress_ns <= now_ns)
				next_progress_ns = now_ns + options->progress_ns;
		}
		if (now_ns >= next_check_ns) {
			status = check_system(&session, now_ns);
			if (status)
				return status;
			next_check_ns = now_ns + smaller(CHECK_NS, options->watchdog_ns);
		}
	}
	return status;
}

static int write_result(const char *status, uint64_t end_ns)
{
	check_loads(&session);
	trace_stop_report(session_warn);
	if (session.options.progress_ns)
		output_progress(&session, end_ns);
	session.high_resolution = realtime_high_resolution();
	if (session.high_resolution == STATE_NO)
		session_warn("no-high-resolution-timers",
			     "timers do not run at high resolution on this machine: every latency includes up to a whole tick");
	output_report_blocked(&session);
	output_result(&session, end_ns);
	exceedances_write(&session);
	explain_write(&session);
	load_set_stop(session.loads);
	tune_session_end(session_warn);
	session.load_gone_ns = clock_now_ns();
	samples_close(&session);
	output_end(&session, status, end_ns);
	/* After the last line: QEMU before 8.1 can crash a guest whose events are switched off. */
	explain_close();
	if (!strcmp(status, "watchdog"))
		return STATUS_WATCHDOG;
	return strcmp(status, "failed") ? 0 : 1;
}

static void report_change(const struct tune_change *change)
{
	output_change(&session, change);
}

static void read_throttling(void)
{
	static struct throttling throttling;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	throttling_read(root, &throttling);
	session.throttling = &throttling;
	if (root >= 0)
		close(root);
}

/* Only FIFO threads are concerned: deadline threads compete with a server by their deadlines. */
static void warn_of_throttling(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (unsigned int i = 0; i < session.threads; i++) {
		const struct measuring *measuring = &session.measuring[i];

		if (measuring->schedule.policy != POLICY_FIFO)
			continue;
		if (measuring->role.cpu >= 0)
			CPU_SET(measuring->role.cpu, &cpus);
		else
			cpus_online(&cpus);
	}
	if (CPU_COUNT(&cpus))
		throttling_warn(session.throttling, &cpus, session_warn);
}

static int measure(char *error, size_t error_size)
{
	const char *status;
	uint64_t end_ns;

	if (threads_plan(&session, session_warn, error, error_size))
		return refuse(error);
	session.load_begun_ns = clock_now_ns();
	if (load_set_start(session.loads, LOAD_TIMEOUT_NS, session_warn, error, error_size))
		return fail(1, error);
	session.load_up_ns = clock_now_ns();
	if (tune_session_begin(session.options.tune_journal, report_change, session_warn, error,
			       error_size))
		return fail(1, error);
	if (threads_start(&session, samples_are_wanted(), error, error_size))
		return fail(1, error);
	realtime_lock_memory(session_warn);
	idle_states_hold(&session.options.idle, tune_session_latency_ns(), session_warn);
	if (explain_prepare(&session, error, error_size))
		return fail(1, error);
	exceedances_prepare(&session);
	if (session.options.threshold_ns)
		trace_stop_prepare(session.options.threshold_ns, session_warn);
	read_throttling();
	warn_of_throttling();
	threads_avoid(&session);
	outlet_follow(&session.out);
	outlet_follow(&session.err);
	samples_follow();
	if (!load_set_alive(session.loads, error, error_size))
		return fail(1, error);

	begin_measuring();
	status = housekeep();
	threads_end(&session);
	explain_stop(&session);
	realtime_unlock_memory();
	output_may_drop(&session, false);
	for (unsigned int i = 0; i < session.threads; i++) {
		if (counts_cpu(&session.measuring[i]))
			add_cpu_counts(&session.measuring[i]);
	}
	end_ns = threads_ended_ns(&session);
	if (end_ns < session.load_start_ns) /* no thread could begin */
		end_ns = clock_now_ns();
	return write_result(status, end_ns);
}

/* A tuning rule's limit takes effect only if the session holds no stricter one. */
static int reconcile_idle_states(char *error, size_t error_size)
{
	struct idle_states *idle = &session.options.idle;

	if (tune_session_latency_ns() == UINT64_MAX)
		return 0;
	if (idle->given && idle->mode != IDLE_DEFAULT) {
		return options_refuse(error, error_size, "idle-states tune",
				      "--idle-states contradicts --tune 'latency ...': both limit the idle states; give one of them");
	}
	idle->mode = IDLE_DEFAULT;
	return 0;
}

/* Check the plan and print it; start nothing. */
static int dry_run(char *error, size_t error_size)
{
	if (threads_plan(&session, session_warn, error, error_size))
		return refuse(error);
	if (tune_session_dry_run(session.options.tune_journal, report_change, session_warn, error,
				 error_size))
		return fail(1, error);
	if (!session.options.json) {
		fputs("# all options are valid; nothing was started\n", session.text);
		output_end_text(&session);
		return 0;
	}
	session.start_ns = clock_now_ns();
	session.high_resolution = realtime_high_resolution();
	read_throttling();
	output_start(&session);
	output_end(&session, "planned", session.start_ns);
	return 0;
}

static bool lines_written(uint64_t until_ns)
{
	return output_wait(&session, until_ns);
}

int session_main(const struct probe *probe, int argc, char **argv)
{
	char error[512];
	int result;

	session.probe = probe;
	if (session_parse(probe, argc, argv, &session.options, error, sizeof(error)))
		return refuse(error);
	if (session.options.help) {
		session_help(probe);
		return 0;
	}
	cpus_usable(&session.usable);
	if (parse_cpus(error, sizeof(error)) || parse_loads(error, sizeof(error)) ||
	    parse_tunes(error, sizeof(error)) || reconcile_idle_states(error, sizeof(error)) ||
	    (!session.options.dry_run &&
	     samples_open(session.options.samples_file, error, sizeof(error))))
		return refuse(error);

	session_block_signals();
	if (output_open(&session))
		return fail(1, "out of memory");
	if (session.options.json) {
		fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_SIZE); /* for a reader that pauses */
		hello_write(&session.json);
	}
	if (session.options.dry_run)
		result = dry_run(error, sizeof(error));
	else
		result = measure(error, sizeof(error));
	load_set_stop(session.loads);
	tune_session_end(session_warn);
	load_set_free(session.loads);
	if (!session_wait_for_reader(lines_written) || outlet_failed(&session.out))
		return result ? result : 1;
	return result;
}
