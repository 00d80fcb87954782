// SPDX-License-Identifier: GPL-2.0-only
/*
 * signal: how long an event takes to reach a program as a signal.
 *
 * The program is the one of SLAC's report on Linux in control systems (K. Kim,
 * 2013): thirty threads at its mixture of priorities, one of them busy on each
 * CPU. A source stamps the time and sends a real-time signal to the process, not
 * to a thread. The two ways of taking it that the report compares:
 *
 * - asynchronous: by a handler. It runs in whichever thread the kernel chooses,
 *   when that thread gets to run. Measured to the handler's first line.
 * - synchronous: by a thread of its own, of higher priority than the others,
 *   which waits in sigwaitinfo(). Measured to its return.
 *
 * The agent's main thread, of ordinary priority, is the program's main thread:
 * the kernel asks it first. Real-time signals are queued, and carry the number of
 * their stamp, so none is merged with another and a lost one is known.
 *
 * The source has the priority of the thread that waits and gives way at once
 * (sched_yield): programming the timer of its own next sleep first would be part
 * of the metric where both have one CPU.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/pause.h"
#include "probe/probe.h"
#include "probe/program.h"
#include "probe/signal_events.h"
#include "session/session.h"

#define COLLECT_NS (20 * NSEC_PER_MSEC)
#define SIGNAL_END \
	SIGIO /* to the thread that waits: no more events; not queued, so never refused */
#define GRACE_NS NSEC_PER_SEC /* for signals still under way at the end */

enum method {
	METHOD_BOTH,
	METHOD_ASYNCHRONOUS,
	METHOD_SYNCHRONOUS,
};

static const char *const methods[] = { "both", "asynchronous", "synchronous", NULL };

static struct {
	enum method method;
	uint64_t deadline_ns;
	bool warm;
} chosen;

static struct {
	struct events asynchronous, synchronous;
	uint64_t due_ns; /* that the source ended at */
	bool ended;	 /* nothing more is sent */
} sent;

static const char *const caches[] = { "cold", "warm", NULL };

static const struct option_spec options[] = {
	{ .name = "method",
	  .kind = OPTION_CHOICE,
	  .choices = methods,
	  .metavar = "METHOD",
	  .preset = "both",
	  .help = "asynchronous: by a handler in any thread; synchronous: by a thread that waits in "
		  "sigwaitinfo(); both, in turn",
	  .value = &chosen.method },
	PROGRAM_BUSY,
	{ .name = "deadline",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "1ms",
	  .help = "Count a longer delay as a violation",
	  .value = &chosen.deadline_ns },
	{ .name = "cache",
	  .kind = OPTION_EITHER,
	  .choices = caches,
	  .metavar = "STATE",
	  .preset = "cold",
	  .help = "cold: send after a pause; warm: right after a signal that does not count, as "
		  "rt-tests does, with --method synchronous only",
	  .value = &chosen.warm },
	{ 0 },
};

static const struct option_preset presets[] = { PROGRAM_PRESETS, { 0 } };

static bool sent_all(uint64_t samples)
{
	return (!sent.asynchronous.number || events_tried(&sent.asynchronous) >= samples) &&
	       (!sent.synchronous.number || events_tried(&sent.synchronous) >= samples);
}

/* The source of events: to each of the two ways in turn. */
static void send_events(struct measuring *measuring)
{
	struct events *turn[2] = { &sent.asynchronous, &sent.synchronous };
	unsigned int turns = chosen.method == METHOD_BOTH ? 2 : 1;
	uint64_t random = measuring->options->seed, due_ns = measuring->start_ns;

	if (chosen.method == METHOD_SYNCHRONOUS)
		turn[0] = turn[1];
	program_settle(measuring, RECIPIENT_WAITER, false);
	program_await(measuring->control);
	for (unsigned int i = 0; !sent_all(measuring->samples); i++) {
		struct events *events = turn[i % turns];

		due_ns += pause_next_ns(&random, measuring->options->interval_ns / turns);
		if (!measuring_goes_on(measuring, due_ns))
			break;
		if (events_tried(events) >= measuring->samples)
			continue;
		if (due_ns > clock_now_ns()) {
			if (clock_sleep_until(due_ns))
				break;
			if (events_have_room(events)) {
				if (chosen.warm)
					events_warm_up(events, measuring->role.cpu >= 0);
				events_send(events);
				continue;
			}
		}
		record_set(events->missed, events->missed + 1);
	}
	sent.due_ns = due_ns;
	__atomic_store_n(&sent.ended, true, __ATOMIC_RELEASE);
	kill(getpid(), SIGNAL_END);
}

static void end_series(struct events *events, struct measuring *measuring)
{
	record_set(measuring->record.missed, events->missed);
	measuring->completed =
		sent.due_ns >= measuring->end_ns || events_tried(events) >= measuring->samples;
	events_report(events, measuring, RECIPIENT_WAITER);
}

/* The thread that takes events synchronously. SIGNAL_END may overtake some. */
static void wait_for_events(struct measuring *measuring)
{
	static const struct timespec nothing;
	struct events *events = &sent.synchronous;
	bool ended = false;
	uint64_t now_ns;
	siginfo_t info;
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, events->number);
	sigaddset(&set, SIGNAL_END);
	recipients_name(RECIPIENT_WAITER, measuring);
	program_settle(measuring, RECIPIENT_WAITER, false);
	while (!measuring->record.threshold_reached) {
		number = ended ? sigtimedwait(&set, &info, &nothing) : sigwaitinfo(&set, &info);
		now_ns = clock_now_ns();
		if (number == events->number && info.si_value.sival_int != EVENT_WARM_UP)
			events_note(events, measuring, (unsigned int)info.si_value.sival_int,
				    now_ns, RECIPIENT_WAITER, sched_getcpu());
		else if (number == SIGNAL_END)
			ended = true;
		else if (number < 0 && ended)
			break;
	}
	end_series(events, measuring);
}

/* Keeps the record of what handlers take, whichever thread they run in. */
static void collect_events(struct measuring *measuring)
{
	static const struct timespec pause = { .tv_nsec = COLLECT_NS };
	struct events *events = &sent.asynchronous;
	uint64_t until_ns = UINT64_MAX;
	bool ended = false;

	program_settle(measuring, RECIPIENT_MAIN, false);
	while (!measuring->record.threshold_reached && clock_now_ns() < until_ns) {
		if (!ended && __atomic_load_n(&sent.ended, __ATOMIC_ACQUIRE)) {
			ended = true;
			until_ns = clock_now_ns() + GRACE_NS;
		}
		events_collect(events, measuring);
		if (ended && events->recipients.noted == events->sent)
			break;
		nanosleep(&pause, NULL);
	}
	end_series(events, measuring);
}

static void open_events(void)
{
	sigset_t end;

	if (chosen.method != METHOD_SYNCHRONOUS) {
		events_open(&sent.asynchronous, SIGRTMIN, chosen.deadline_ns);
		events_handle(&sent.asynchronous);
	}
	if (chosen.method != METHOD_ASYNCHRONOUS)
		events_open(&sent.synchronous, SIGRTMIN + 1, chosen.deadline_ns);
	events_mask(&sent.synchronous, SIG_BLOCK);
	sigemptyset(&end);
	sigaddset(&end, SIGNAL_END);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	int cpu = cpus->count == 1 ? cpus->number[0] : -1, count = 0;

	if (session->policy == POLICY_DEADLINE) {
		return options_refuse(error, error_size, "policy",
				      "signal needs threads of many priorities, which SCHED_DEADLINE does not have; use --policy fifo or other");
	}
	if (chosen.warm && chosen.method != METHOD_SYNCHRONOUS) {
		return options_refuse(error, error_size, "cache method",
				      "--cache warm would decide which thread takes an asynchronous signal; use --method synchronous with it");
	}
	open_events();
	roles[count++] = (struct role){
		.name = "",
		.body = send_events,
		.cpu = cpu,
		.priority = session->priority,
		.interval_ns = session->interval_ns,
		.silent = true,
	};
	if (sent.asynchronous.number)
		roles[count++] = (struct role){
			.name = methods[METHOD_ASYNCHRONOUS],
			.body = collect_events,
			.cpu = cpu,
			.interval_ns = session->interval_ns,
		};
	if (sent.synchronous.number)
		roles[count++] = (struct role){
			.name = methods[METHOD_SYNCHRONOUS],
			.body = wait_for_events,
			.cpu = cpu,
			.priority = session->priority,
			.interval_ns = session->interval_ns,
		};
	return program_plan(cpus, sent.asynchronous.number, roles, count);
}

static const struct events *events_of(const struct measuring *measuring)
{
	return measuring->role.body == collect_events ? &sent.asynchronous : &sent.synchronous;
}

static void add_recipients(const struct measuring *measuring, struct json *json)
{
	recipients_put(&events_of(measuring)->recipients, json);
}

static void print_recipients(FILE *out, const struct measuring *measuring, unsigned int count)
{
	for (; count; count--, measuring++) {
		if (!measuring->role.silent)
			recipients_print(out, &events_of(measuring)->recipients,
					 measuring->role.name);
	}
}

static const char *const metrics[] = { RECIPIENTS_METRICS, NULL };

const struct probe signal_probe = {
	.name = "signal",
	.summary = "how long an event takes to reach a program as a signal",
	.help = "Notification latency of a signal to a program of 31 threads: from the time stamp of its source to\n"
		"the first line of the handler, or to the return of sigwaitinfo().\n"
		"\n"
		"The waiting thread has --priority, the others those of SLAC's report.\n",
	.examples = "  rtscope-agent signal -D 10h                     as SLAC's report\n"
		    "  rtscope-agent signal --method synchronous --busy 0 -i 1ms -D 1m\n",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
	.add = add_recipients,
	.print = print_recipients,
};
