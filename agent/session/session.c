// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a session. The main thread is the housekeeping thread: it starts
 * everything, then wakes a few times a second to renew the lease, write
 * progress and empty the rings, and ends everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "base/hello.h"
#include "proc/cpus.h"
#include "proc/throttling.h"
#include "session/output.h"
#include "session/threads.h"
#include "session/trace_stop.h"

#define TICK_NS		 (100 * NSEC_PER_MSEC)
#define SAMPLES_TICK_NS	 (20 * NSEC_PER_MSEC)
#define CHECK_NS	 NSEC_PER_SEC
#define LOAD_TIMEOUT_NS	 (60 * NSEC_PER_SEC)
#define START_DELAY_NS	 (10 * NSEC_PER_MSEC)
#define PIPE_SIZE	 (1 << 20)
#define STARVING_PERCENT 90
#define STATUS_WATCHDOG	 3 /* exit status of a run that the watchdog ended */

/* Samples that wait for the disk: in all, and more for each thread; a line has some 30 bytes. */
#define SAMPLES_QUEUE	     (256 * 1024)
#define SAMPLES_QUEUE_THREAD (64 * 1024)
#define SAMPLES_AT_ONCE	     4096 /* of each thread: twice what comes at the shortest interval */
/* How often the wait for a reader checks for signals, and after what time these end it. */
#define LOOK_NS	    (50 * NSEC_PER_MSEC)
#define PATIENCE_NS NSEC_PER_SEC

static struct session session;
static FILE *samples_file;
static bool samples_failure_reported;
static struct outlet samples;
static const sigset_t *waited_signals;

void session_warn(const char *code, const char *text)
{
	output_warning(&session, code, text);
}

static void set_up_signals(sigset_t *waited)
{
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(waited);
	sigaddset(waited, SIGINT);
	sigaddset(waited, SIGTERM);
	sigaddset(waited, SIGHUP);
	sigaddset(waited, SIGNAL_DONE);
	pthread_sigmask(SIG_BLOCK, waited, NULL);
}

static int fail(int status, const char *text)
{
	char before[64];

	snprintf(before, sizeof(before), "rtscope-agent %s: ", session.probe->name);
	output_complain(&session, before, text);
	return status;
}

static int parse_loads(char *error, size_t error_size)
{
	struct cpus cpus = { 0 };
	char reason[256];

	if (session.options.load_cpus &&
	    cpus_parse(session.options.load_cpus, &session.usable, &cpus, reason, sizeof(reason))) {
		snprintf(error, error_size, "--load-cpus: %s", reason);
		return -1;
	}
	session.loads = load_set_new(session.options.seed);
	if (!session.loads) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	load_set_keep_to(session.loads, &cpus);
	for (unsigned int i = 0; i < session.options.load_count; i++) {
		if (load_set_parse(session.loads, session.options.loads[i], error, error_size))
			return -1;
	}
	return 0;
}

static int open_samples_file(char *error, size_t error_size)
{
	const char *path = session.options.samples_file;
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		snprintf(error, error_size, "cannot write --samples-file %s: %s", path,
			 strerror(errno));
		return -1;
	}
	if (!outlet_open(&samples, fd, SAMPLES_QUEUE + SAMPLES_QUEUE_THREAD))
		samples_file = outlet_stream(&samples);
	if (!samples_file) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	fputs("# thread\tcpu\ttime_ns\tlatency_ns\n", samples_file);
	return 0;
}

static void drain_ring(const struct measuring *measuring)
{
	struct ring_sample sample;

	for (unsigned int i = 0; i < SAMPLES_AT_ONCE && ring_pop(measuring->record.ring, &sample);
	     i++)
		fprintf(samples_file, "%u\t%d\t%llu\t%llu\n", measuring->index, measuring->role.cpu,
			(unsigned long long)(sample.time_ns - session.start_ns),
			(unsigned long long)sample.latency_ns);
}

static void report_samples_failure(void)
{
	if (samples_failure_reported)
		return;
	samples_failure_reported = true;
	session_warn("samples-file-failed",
		     "the samples file could not be written to its end (disk full?); the histogram has every sample");
}

/* Where the disk is slower than the samples come, they stay in the rings. */
static void drain_rings(void)
{
	static unsigned int first;

	if (!samples_file)
		return;
	for (unsigned int i = 0; i < session.threads; i++) {
		struct measuring *measuring = &session.measuring[(first + i) % session.threads];

		if (outlet_waiting(&samples) >
		    SAMPLES_QUEUE + (size_t)session.threads * SAMPLES_QUEUE_THREAD)
			break;
		if (!measuring->role.silent)
			drain_ring(measuring);
	}
	first++;
	fflush(samples_file);
	outlet_end_line(&samples);
	if (outlet_failed(&samples))
		report_samples_failure();
}

static bool rings_empty(void)
{
	for (unsigned int i = 0; i < session.threads; i++) {
		const struct measuring *measuring = &session.measuring[i];

		if (!measuring->role.silent && !ring_is_empty(measuring->record.ring))
			return false;
	}
	return true;
}

/*
 * Formatting and writing samples disturbs what is measured, above all on a single CPU: it is put off
 * until a ring fills, or to the end.
 */
static bool rings_filling(void)
{
	if (!samples_file)
		return false;
	for (unsigned int i = 0; i < session.threads; i++) {
		const struct measuring *measuring = &session.measuring[i];

		if (!measuring->role.silent && ring_is_filling(measuring->record.ring))
			return true;
	}
	return false;
}

/*
 * By system call: after a handler of the probe's own musl's sigtimedwait() waits
 * the whole time anew, for ever where handlers run often.
 */
static int wait_for_signal(const sigset_t *waited, const struct timespec *timeout)
{
	return (int)syscall(SYS_rt_sigtimedwait, waited, NULL, timeout, _NSIG / 8);
}

static bool ends_session(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/*
 * Wait for whoever takes the output, as long as he lives: nothing is measured any more. A signal
 * ends the wait where it has lasted for a while. Returns whether all was written.
 */
static bool wait_for_reader(bool (*written)(uint64_t until_ns))
{
	static const struct timespec at_once;
	uint64_t patient_until_ns = clock_now_ns() + PATIENCE_NS, now_ns;
	bool asked = false;

	while (!written(clock_now_ns() + LOOK_NS)) {
		asked |= ends_session(wait_for_signal(waited_signals, &at_once));
		now_ns = clock_now_ns();
		if (asked && now_ns > patient_until_ns)
			return false;
	}
	return true;
}

static bool lines_written(uint64_t until_ns)
{
	return output_wait(&session, until_ns);
}

static bool samples_written(uint64_t until_ns)
{
	while (!outlet_failed(&samples) && !rings_empty()) {
		drain_rings();
		if (!outlet_wait(&samples, until_ns))
			return false;
	}
	return outlet_wait(&samples, until_ns);
}

static void close_samples_file(void)
{
	uint64_t dropped = 0;
	bool written;
	char text[192];

	if (!samples_file)
		return;
	drain_rings();
	written = wait_for_reader(samples_written);
	if (!written || outlet_failed(&samples) || close(samples.fd))
		report_samples_failure();
	if (written)
		outlet_close(&samples);
	for (unsigned int i = 0; i < session.threads; i++) {
		if (!session.measuring[i].role.silent)
			dropped += session.measuring[i].record.ring->dropped;
	}
	if (!dropped)
		return;
	snprintf(text, sizeof(text),
		 "the samples file lacks %llu of the samples, which came faster than they could be written; the histogram has them all",
		 (unsigned long long)dropped);
	session_warn("samples-file-dropped", text);
}

void measuring_fact(struct measuring *measuring, const char *key, double value)
{
	if (measuring->fact_count == PROBE_FACTS_MAX)
		return;
	measuring->fact[measuring->fact_count].key = key;
	measuring->fact[measuring->fact_count++].value = value;
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
	measuring_fact(measuring, SESSION_FACT_INTERRUPTS,
		       (double)(now.device_interrupts - before->device_interrupts));
	if (now.switches_known && before->switches_known)
		measuring_fact(measuring, SESSION_FACT_SWITCHES,
			       (double)(now.switches - before->switches));
}

/*
 * Writing must not disturb the first samples. Where it takes longer than planned, the start is put
 * off and reported again, up to a second: a reader that takes nothing is not waited for.
 */
static void begin_measuring(void)
{
	uint64_t delay_ns = START_DELAY_NS;
	struct load_work work;

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
		delay_ns *= 2;
	} while (!output_wait(&session, session.start_ns) && delay_ns < NSEC_PER_SEC);
	output_may_drop(&session, true);
	grant_lease(clock_now_ns());
	threads_go();
}

/* A thread that takes nearly all of its CPU leaves nothing for the kernel's own threads. */
static bool starves(struct measuring *measuring, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - measuring->seen.cpu_checked_ns, used_ns;
	clockid_t clock;
	char text[256];

	if (measuring->role.spins || __atomic_load_n(&measuring->done, __ATOMIC_ACQUIRE) ||
	    now_ns < measuring->seen.cpu_checked_ns || elapsed_ns < session.options.watchdog_ns ||
	    pthread_getcpuclockid(measuring->thread, &clock))
		return false;
	used_ns = clock_read_ns(clock) - measuring->seen.cpu_ns;
	measuring->seen.cpu_ns += used_ns;
	measuring->seen.cpu_checked_ns = now_ns;
	if (used_ns < elapsed_ns / 100 * STARVING_PERCENT)
		return false;
	snprintf(text, sizeof(text),
		 "stopped by the watchdog: thread %u used %llu %% of CPU %d for %.1f s, which starves everything else there; use a longer interval",
		 measuring->index, (unsigned long long)(used_ns * 100 / elapsed_ns),
		 measuring->role.cpu, (double)elapsed_ns / NSEC_PER_SEC);
	session_warn("watchdog", text);
	return true;
}

/* The samples of a thread that another CPU runs are not those of the CPU that they are shown with. */
static const char *report_moved(const struct measuring *measuring, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "stopped: thread %u was pinned to CPU %d and no longer is: %s; up to %u ms of its last samples are from other CPUs",
		 measuring->index, measuring->role.cpu, why,
		 (unsigned int)((samples_file ? SAMPLES_TICK_NS : TICK_NS) / NSEC_PER_MSEC));
	session_warn("thread-moved", text);
	return "failed";
}

static const char *tell_failure(const struct measuring *measuring)
{
	char text[512];

	snprintf(text, sizeof(text), "thread %u could not measure on: %s", measuring->index,
		 measuring->failure ? measuring->failure : strerror(measuring->error));
	session_warn("thread-failed", text);
	return "failed";
}

/* What the threads' ends mean: a status, or NULL while all is well and some still run. */
static const char *status_of_threads(void)
{
	bool running = false;

	for (unsigned int i = 0; i < session.threads; i++) {
		const struct measuring *measuring = &session.measuring[i];

		bool done = __atomic_load_n(&measuring->done, __ATOMIC_ACQUIRE);
		const char *moved = done ? measuring->moved : thread_moved(measuring);

		if (moved)
			return report_moved(measuring, moved);
		if (!done) {
			running |= !measuring->role.silent;
			continue;
		}
		if (measuring->error)
			return tell_failure(measuring);
		if (measuring->record.threshold_reached)
			return "threshold";
		if (!measuring->completed && !measuring->role.silent) {
			session_warn("watchdog",
				     "stopped by the watchdog: the housekeeping thread could not run, so measuring or its load starves the machine; use a longer interval, fewer CPUs or less load");
			return "watchdog";
		}
	}
	return running ? NULL : "complete";
}

static void check_loads(void)
{
	static bool told;
	char text[256];

	if (told || load_set_alive(session.loads, text, sizeof(text)))
		return;
	told = true;
	session_warn("load-ended", text);
}

static const char *check_machine(uint64_t now_ns)
{
	for (unsigned int i = 0; i < session.threads; i++) {
		if (starves(&session.measuring[i], now_ns))
			return "watchdog";
	}
	check_loads();
	return NULL;
}

/* So that a pause of the machine is not taken for a latency of its kernel alone. */
static void check_stall(uint64_t asleep_ns)
{
	static bool told;
	char text[192];

	if (told || asleep_ns < session.options.watchdog_ns)
		return;
	told = true;
	snprintf(text, sizeof(text),
		 "the housekeeping thread stood still for %.1f s: the machine or this program was paused, or nearly starved",
		 (double)asleep_ns / NSEC_PER_SEC);
	session_warn("stalled", text);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Until the session should end; returns why. */
static const char *keep_house(const sigset_t *waited)
{
	const struct session_options *options = &session.options;
	uint64_t next_progress_ns = session.start_ns + options->progress_ns;
	uint64_t next_check_ns = session.start_ns + smaller(CHECK_NS, options->watchdog_ns);
	uint64_t tick_ns =
		smaller(samples_file ? SAMPLES_TICK_NS : TICK_NS, options->watchdog_ns / 4);
	const char *status;

	while (!(status = status_of_threads())) {
		uint64_t slept_ns = clock_now_ns(), now_ns;
		struct timespec tick = ns_to_timespec(tick_ns);
		int number;

		if (options->progress_ns && next_progress_ns < slept_ns + tick_ns)
			tick = ns_to_timespec(next_progress_ns > slept_ns ?
						      next_progress_ns - slept_ns :
						      0);
		number = wait_for_signal(waited, &tick);
		now_ns = clock_now_ns();
		if (ends_session(number) || !output_wanted(&session))
			return "interrupted";
		grant_lease(now_ns);
		check_stall(now_ns - slept_ns);
		if (rings_filling())
			drain_rings();
		if (options->progress_ns && now_ns >= next_progress_ns) {
			if (output_may_progress(&session, now_ns))
				output_progress(&session, now_ns);
			next_progress_ns += options->progress_ns;
			if (next_progress_ns <= now_ns)
				next_progress_ns = now_ns + options->progress_ns;
		}
		if (now_ns >= next_check_ns) {
			status = check_machine(now_ns);
			if (status)
				return status;
			next_check_ns = now_ns + smaller(CHECK_NS, options->watchdog_ns);
		}
	}
	return status;
}

static int write_result(const char *status, uint64_t end_ns)
{
	check_loads();
	trace_stop_report(session_warn);
	if (session.options.progress_ns)
		output_progress(&session, end_ns);
	session.high_resolution = realtime_high_resolution();
	if (session.high_resolution == STATE_NO)
		session_warn("no-high-resolution-timers",
			     "timers do not run at high resolution on this machine: every latency includes up to a whole tick");
	output_report_blocked(&session);
	output_result(&session, end_ns);
	load_set_stop(session.loads);
	tune_session_end(session_warn);
	session.load_gone_ns = clock_now_ns();
	close_samples_file();
	output_end(&session, status, end_ns);
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

static int measure(const sigset_t *waited, char *error, size_t error_size)
{
	const char *status;
	uint64_t end_ns;

	if (threads_plan(&session, session_warn, error, error_size))
		return fail(2, error);
	session.load_begun_ns = clock_now_ns();
	if (load_set_start(session.loads, LOAD_TIMEOUT_NS, session_warn, error, error_size))
		return fail(1, error);
	session.load_up_ns = clock_now_ns();
	if (tune_session_begin(session.options.tune_journal, report_change, session_warn, error,
			       error_size))
		return fail(1, error);
	if (threads_start(&session, samples_file, error, error_size))
		return fail(1, error);
	realtime_lock_memory(session_warn);
	idle_states_hold(&session.options.idle, tune_session_latency_ns(), session_warn);
	if (session.options.threshold_ns)
		trace_stop_prepare(session.options.threshold_ns, session_warn);
	read_throttling();
	warn_of_throttling();
	threads_avoid(&session);
	outlet_follow(&session.out);
	outlet_follow(&session.err);
	if (samples_file)
		outlet_follow(&samples);
	if (!load_set_alive(session.loads, error, error_size))
		return fail(1, error);

	begin_measuring();
	status = keep_house(waited);
	threads_end(&session);
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
		snprintf(error, error_size,
			 "--idle-states contradicts --tune 'latency ...': both limit the idle states; give one of them");
		return -1;
	}
	idle->mode = IDLE_DEFAULT;
	return 0;
}

/* Say what would be measured, and start nothing. */
static int rehearse(char *error, size_t error_size)
{
	if (threads_plan(&session, session_warn, error, error_size))
		return fail(2, error);
	if (tune_session_rehearse(session.options.tune_journal, report_change, session_warn, error,
				  error_size))
		return fail(1, error);
	if (!session.options.json) {
		fputs("# all options are good; nothing was started\n", session.text);
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

int session_main(const struct probe *probe, int argc, char **argv)
{
	char error[512];
	sigset_t waited;
	int result;

	session.probe = probe;
	if (session_parse(probe, argc, argv, &session.options, error, sizeof(error)))
		return fail(2, error);
	if (session.options.help) {
		session_help(probe);
		return 0;
	}
	cpus_usable(&session.usable);
	if (cpus_parse(session.options.cpus, &session.usable, &session.cpus, error,
		       sizeof(error)) ||
	    parse_loads(error, sizeof(error)) ||
	    tune_session_parse(session.options.tunes, session.options.tune_count, error,
			       sizeof(error)) ||
	    reconcile_idle_states(error, sizeof(error)) ||
	    (!session.options.dry_run && open_samples_file(error, sizeof(error))))
		return fail(2, error);

	set_up_signals(&waited);
	waited_signals = &waited;
	if (output_open(&session))
		return fail(1, "out of memory");
	if (session.options.json) {
		fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_SIZE); /* for a reader that pauses */
		hello_write(&session.json);
	}
	if (session.options.dry_run)
		result = rehearse(error, sizeof(error));
	else
		result = measure(&waited, error, sizeof(error));
	load_set_stop(session.loads);
	tune_session_end(session_warn);
	load_set_free(session.loads);
	if (!wait_for_reader(lines_written) || outlet_failed(&session.out))
		return result ? result : 1;
	return result;
}
