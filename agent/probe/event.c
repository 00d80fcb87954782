// SPDX-License-Identifier: GPL-2.0-only
/*
 * event: latency of a device interrupt to a program.
 *
 * The device is the event receiver of the module rtevent, modelled on a timing card: one interrupt
 * at each fiducial, and one for its data. The program is that of SLAC's report (program.h) and gets
 * the events by one of Linux's notification methods (event_methods.h). The latency is the time from
 * the first line of the interrupt's handler to the program's first clock read; the driver's time
 * stamps divide it into stages.
 *
 * The waiter is a dedicated thread of the program's highest priority. With SIGIO a handler runs
 * instead, in the thread that the kernel chooses (event_handler.h).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/device.h"
#include "probe/event_handler.h"
#include "probe/event_methods.h"
#include "probe/event_stages.h"
#include "probe/probe.h"
#include "probe/program.h"
#include "session/session.h"

#define DATA_DEFAULT 5 /* the interval in the time from a fiducial to its data */
#define COLLECT_NS   (20 * NSEC_PER_MSEC)
#define GRACE_NS     NSEC_PER_SEC /* for what handlers have not yet taken at the end */

static struct {
	const struct notification_method *method;
	uint64_t deadline_ns;
	uint64_t irq_priority;
	uint64_t data_ns;
	bool data_chosen;
} chosen;

static unsigned int via;

static struct receiver receiver;

static struct {
	struct recipients recipients;
	struct stages stages;
	uint64_t raised;  /* events up to the last that anybody has seen */
	uint64_t merged;  /* taken together with an earlier one */
	unsigned int cpu; /* that is interrupted */
} events;

static const struct option_spec options[] = {
	{ .name = "via",
	  .kind = OPTION_CHOICE,
	  .choices = notification_method_names,
	  .metavar = "PATH",
	  .preset = "sigwait",
	  .help = "Notification path. sigio: a signal handler in any thread; page: a thread that polls "
		  "a mapped page; else a thread that waits there",
	  .value = &via },
	{ .name = "irq-priority",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = 99,
	  .preset = "99",
	  .help = "Priority of the interrupt's thread; the kernel's default is 50",
	  .value = &chosen.irq_priority },
	{ .name = "data",
	  .kind = OPTION_TIME,
	  .computed = "a fifth of the interval",
	  .help = "Time from each fiducial to its data interrupt; 0 for none",
	  .value = &chosen.data_ns,
	  .given = &chosen.data_chosen },
	PROGRAM_BUSY,
	{ .name = "deadline",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .preset = "1ms",
	  .help = "Count a longer delay as a violation",
	  .value = &chosen.deadline_ns },
	{ 0 },
};

static const struct option_preset presets[] = { PROGRAM_PRESETS, { 0 } };

/* Every number up to @sequence has been an event, seen or lost. */
static void note_sequence(uint32_t sequence)
{
	int32_t ahead = (int32_t)(sequence + 1 - (uint32_t)events.raised);

	if (ahead > 0)
		events.raised += (uint32_t)ahead;
}

/* Enter an event. False when measuring has ended before it. */
static bool note(struct measuring *measuring, const struct rtevent_event *event, uint64_t taken_ns,
		 unsigned int recipient, int cpu)
{
	if (measuring->record.threshold_reached || !measuring_goes_on(measuring, event->due_ns))
		return false;
	note_sequence(event->sequence);
	if (recipients_note(&events.recipients, measuring, event->interrupt_ns, taken_ns, recipient,
			    cpu))
		stages_add(&events.stages, event, taken_ns);
	record_set(measuring->record.missed, record_get(receiver.map->missed));
	return true;
}

static bool begin(struct measuring *measuring, unsigned int recipient)
{
	struct rtevent_setup setup = {
		.interval_ns = measuring->options->interval_ns,
		.data_ns = chosen.data_ns,
		.seed = measuring->options->seed,
		.start_ns = measuring->start_ns,
		.cpu = (int)events.cpu,
		.priority = (unsigned int)chosen.irq_priority,
	};
	char said[200];

	program_settle(measuring, recipient, false);
	program_await(measuring->control);
	if (!receiver_start(&receiver, &setup))
		return true;
	measuring->error = errno;
	device_said("rtevent", said, sizeof(said));
	fprintf(stderr, "rtscope-agent event: the module rtevent cannot start: %s; %s\n",
		strerror(measuring->error), said);
	return false;
}

static void end(struct measuring *measuring)
{
	receiver_close(&receiver);
	recipients_report(&events.recipients, measuring, RECIPIENT_WAITER,
			  events.raised - events.recipients.noted);
	measuring_metric(measuring, "merged", (double)events.merged);
	stages_report(&events.stages, measuring);
}

static bool take_events(struct measuring *measuring)
{
	for (unsigned int i = 0; i < receiver.count; i++) {
		const struct rtevent_event *event = &receiver.event[i];
		uint64_t taken_ns = event_taken_ns(event, receiver.now_ns);

		if (!note(measuring, event, taken_ns, RECIPIENT_WAITER, sched_getcpu()))
			return false;
		events.merged += i > 0;
	}
	return record_get(measuring->control->until_ns);
}

static void wait_for_events(struct measuring *measuring)
{
	recipients_name(RECIPIENT_WAITER, measuring);
	if (!begin(measuring, RECIPIENT_WAITER))
		return;
	do
		chosen.method->wait(&receiver);
	while (take_events(measuring));
	end(measuring);
}

/* Enter what handlers have taken since the last time. False when measuring has ended before. */
static bool collect(struct measuring *measuring)
{
	const struct handled *handled;

	while ((handled = handler_first())) {
		if (!note(measuring, &handled->event, handled->taken_ns, handled->recipient,
			  handled->cpu))
			return false;
		events.merged += handled->merged;
		handler_forget();
	}
	return true;
}

/* What no handler has taken until after the end was lost on the program. */
static void count_untaken(const struct measuring *measuring)
{
	struct rtevent_event event;

	while (read(receiver.device, &event, sizeof(event)) == sizeof(event)) {
		if (event.due_ns < measuring->end_ns)
			note_sequence(event.sequence);
	}
}

/* Keeps the record of what handlers take, whichever thread they run in. */
static void collect_events(struct measuring *measuring)
{
	static const struct timespec pause = { .tv_nsec = COLLECT_NS };

	if (!begin(measuring, RECIPIENT_MAIN))
		return;
	while (collect(measuring)) {
		if (!measuring_goes_on(measuring, clock_now_ns() - GRACE_NS)) {
			if (measuring->completed)
				count_untaken(measuring);
			break;
		}
		nanosleep(&pause, NULL);
	}
	end(measuring);
}

static void block_events(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int check_plan(const struct session_options *session, char *error, size_t error_size)
{
	if (!chosen.data_chosen)
		chosen.data_ns = session->interval_ns / DATA_DEFAULT;
	if (session->policy == POLICY_DEADLINE)
		options_refuse(error, error_size, "policy",
			       "event needs threads of many priorities, which SCHED_DEADLINE does not have; use --policy fifo or other");
	else if (session->interval_ns < RTEVENT_INTERVAL_MIN_NS)
		options_refuse(error, error_size, "interval",
			       "--interval: event takes at least %llu us",
			       RTEVENT_INTERVAL_MIN_NS / NSEC_PER_USEC);
	else if (chosen.data_ns >= session->interval_ns / 2)
		options_refuse(error, error_size, "data interval",
			       "--data must be shorter than half of --interval, or 0 for no data interrupts");
	else
		return 0;
	return -1;
}

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	bool handled;

	chosen.method = &notification_methods[via];
	handled = !chosen.method->wait;
	if (check_plan(session, error, error_size) ||
	    (!session->dry_run && receiver_open(&receiver, chosen.method, error, error_size)))
		return -1;
	if (handled)
		handler_install(receiver.device);
	else
		block_events();
	events.recipients.deadline_ns = chosen.deadline_ns;
	events.cpu = cpus->number[0];
	roles[0] = (struct role){
		.name = notification_method_names[via],
		.body = handled ? collect_events : wait_for_events,
		.cpu = cpus->count == 1 ? cpus->number[0] : -1,
		.priority = handled ? 0 : session->priority,
		.interval_ns = session->interval_ns,
	};
	return program_plan(cpus, handled ? SIGIO : 0, roles, 1);
}

static void add_recipients(const struct measuring *measuring, struct json *json)
{
	(void)measuring;
	recipients_put(&events.recipients, json);
}

static void print_recipients(FILE *out, const struct measuring *measuring, unsigned int count)
{
	(void)count;
	recipients_print(out, &events.recipients, measuring->role.name);
}

static const char *const metrics[] = { RECIPIENTS_METRICS, "merged", STAGES_METRICS, NULL };

const struct probe event_probe = {
	.name = "event",
	.summary = "how long a device's interrupt takes to reach a program",
	.help = "Notification latency of a device's interrupt to a program of 31 threads: from the first line of\n"
		"the interrupt handler until the program reads the clock. The device is an event receiver of the\n"
		"module rtevent, which must be loaded. The interrupts come to the first CPU of --cpus.\n"
		"\n"
		"The waiting thread has --priority, the others those of SLAC's report.\n",
	.examples = "  rtscope-agent event --via sigio -D 10m          as SLAC's vendor did\n"
		    "  rtscope-agent event --via read --irq-priority 50 --busy 0 -D 1m\n",
	.module = "rtevent",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
	.add = add_recipients,
	.print = print_recipients,
};
