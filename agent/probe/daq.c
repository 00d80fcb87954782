// SPDX-License-Identifier: GPL-2.0-only
/*
 * daq: how long after its interrupt a program has a digitizer's data.
 *
 * The digitizer is the module rtdaq (kernel/modules/rtdaq), of the channels and
 * the rate of SLAC's report on Linux in control systems (K. Kim, 2013). A thread
 * for each digitizer arms it, waits for its interrupt and then holds an event's
 * data. The latency is from the time stamp that the interrupt's handler takes to
 * the return of the call that waits, which has copied the data where they are
 * copied; with an interrupt for each channel it is that of the last.
 *
 * Then the thread looks whether each block of the data is of that event. Events
 * are numbered, so one that never came is known from the number of the next.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "probe/digitizer.h"
#include "probe/probe.h"
#include "session/session.h"

#define PERIOD_MIN_NS (100 * NSEC_PER_USEC)
#define PERIOD_MAX_NS (10 * NSEC_PER_SEC)
#define SWEEP_PART    4 /* of the interval */
#define NUMBER_MAX    65536

static const char *const transfers[] = { "copy", "mapped", "scatter", NULL };
static const char *const armings[] = { "separate", "atomic", NULL };
static const char *const interruptions[] = { "event", "channel", NULL };

#define ARM_ATOMIC 1

static struct {
	unsigned int transfer, arm, interrupts; /* indices into the lists above */
	uint64_t channels, samples, modules;
	uint64_t irq_priority;
	uint64_t work_ns;
} chosen;

static struct module {
	struct digitizer digitizer;
	uint64_t last; /* number of the last event that was had */
	uint64_t data_errors;
	uint64_t timeouts;
	uint64_t whole_sum_ns, whole_max_ns; /* from an event's being ready until it was had */
} modules[RTDAQ_FILES_MAX];

static const struct option_spec options[] = {
	{ .name = "transfer",
	  .kind = OPTION_CHOICE,
	  .choices = transfers,
	  .metavar = "METHOD",
	  .preset = "scatter",
	  .help = "copy: to a kernel buffer and from there to the program's; mapped: to a buffer that "
		  "the program has mapped; scatter: to the program's own pages",
	  .value = &chosen.transfer },
	{ .name = "arm",
	  .kind = OPTION_CHOICE,
	  .choices = armings,
	  .metavar = "METHOD",
	  .preset = "atomic",
	  .help = "separate: one call arms and another waits; atomic: one call does both",
	  .value = &chosen.arm },
	{ .name = "interrupts",
	  .kind = OPTION_CHOICE,
	  .choices = interruptions,
	  .metavar = "METHOD",
	  .preset = "event",
	  .help = "event: one interrupt per event; channel: one for the event and one for each channel, "
		  "which is requested by itself",
	  .value = &chosen.interrupts },
	{ .name = "channels",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = RTDAQ_CHANNELS_MAX,
	  .preset = "10",
	  .help = "Channels of a digitizer; an event has one more, the readout",
	  .value = &chosen.channels },
	{ .name = "samples-per-channel",
	  .kind = OPTION_NUMBER,
	  .min = RTDAQ_BLOCK / RTDAQ_SAMPLE_BYTES,
	  .max = NUMBER_MAX,
	  .step = RTDAQ_BLOCK / RTDAQ_SAMPLE_BYTES,
	  .preset = "1024",
	  .help = "Samples per channel, of 2 bytes each",
	  .value = &chosen.samples },
	{ .name = "modules",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = RTDAQ_FILES_MAX,
	  .preset = "1",
	  .help = "Digitizers, all with their events at the same time",
	  .value = &chosen.modules },
	{ .name = "irq-priority",
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .max = 99,
	  .preset = "90",
	  .help = "Priority of the interrupt's thread; the kernel's default is 50",
	  .value = &chosen.irq_priority },
	{ .name = "work",
	  .kind = OPTION_TIME,
	  .preset = "0",
	  .help = "CPU time that each event computes",
	  .value = &chosen.work_ns },
	{ 0 },
};

/* 120 Hz */
static const struct option_preset presets[] = { { "interval", "8333.333us" }, { 0 } };

static int check(const struct session_options *session, char *error, size_t error_size)
{
	uint64_t bytes = (chosen.channels + 1) * chosen.samples * RTDAQ_SAMPLE_BYTES;

	if (session->policy == POLICY_DEADLINE) {
		return options_refuse(error, error_size, "policy",
				      "--policy deadline does not fit: this probe's threads wait for a device; use fifo or other");
	}
	if (session->interval_ns < PERIOD_MIN_NS || session->interval_ns > PERIOD_MAX_NS) {
		return options_refuse(error, error_size, "interval",
				      "--interval is not from 100us to 10s, as daq needs it");
	}
	if (bytes > RTDAQ_BYTES_MAX) {
		return options_refuse(error, error_size, "channels samples-per-channel",
				      "--channels %llu of --samples-per-channel %llu and the readout would be %llu bytes, and an event has at most %u: take fewer",
				      (unsigned long long)chosen.channels,
				      (unsigned long long)chosen.samples, (unsigned long long)bytes,
				      RTDAQ_BYTES_MAX);
	}
	return 0;
}

static int open_module(struct module *module, uint64_t interval_ns, char *error, size_t error_size)
{
	const struct rtdaq_setup setup = {
		.period_ns = interval_ns,
		.sweep_ns = interval_ns / SWEEP_PART,
		.transfer = (uint32_t)chosen.transfer,
		.interrupts = (uint32_t)chosen.interrupts,
		.channels = (uint32_t)chosen.channels,
		.samples = (uint32_t)chosen.samples,
	};
	char text[192];
	int result;

	module->digitizer.atomic = chosen.arm == ARM_ATOMIC;
	if (digitizer_open(&module->digitizer, setup, error, error_size))
		return -1;
	result = digitizer_raise(&module->digitizer, (unsigned int)chosen.irq_priority);
	if (!result)
		return 0;
	snprintf(text, sizeof(text),
		 "the interrupt's thread keeps the priority that the kernel gave it: %s",
		 strerror(result));
	session_warn("irq-priority", text);
	return 0;
}

static void read_events(struct measuring *measuring);

static int plan(const struct session_options *session, const struct cpus *cpus, struct role *roles,
		char *error, size_t error_size)
{
	static const char *const names[RTDAQ_FILES_MAX] = { "module 1", "module 2", "module 3",
							    "module 4", "module 5", "module 6",
							    "module 7", "module 8" };

	if (check(session, error, error_size))
		return -1;
	for (unsigned int i = 0; i < chosen.modules; i++) {
		if (!session->dry_run &&
		    open_module(&modules[i], session->interval_ns, error, error_size))
			return -1;
		roles[i] = (struct role){
			.name = chosen.modules == 1 ? "" : names[i],
			.body = read_events,
			.cpu = cpus->number[i % cpus->count],
			.priority = session->priority,
			.interval_ns = session->interval_ns,
		};
	}
	return (int)chosen.modules;
}

static void note_event(struct measuring *measuring, struct module *module,
		       const struct rtdaq_wait *wait, uint64_t now_ns)
{
	uint64_t whole_ns = clock_elapsed_ns(wait->ready_ns, now_ns);

	module->last = wait->event;
	if (record_add(&measuring->record, wait->interrupt_ns, now_ns)) {
		module->whole_sum_ns += whole_ns;
		if (whole_ns > module->whole_max_ns)
			module->whole_max_ns = whole_ns;
	}
	record_set(measuring->record.missed, module->last - measuring->record.count);
}

static void report(struct measuring *measuring, const struct module *module, uint64_t cpu_ns)
{
	double events = (double)measuring->record.count, per_event_ns;
	struct rtdaq_counts counts;

	measuring->error = measuring->error ?: digitizer_counts(&module->digitizer, &counts);
	if (measuring->error)
		return;
	measuring_metric(measuring, "lost", (double)(module->last - measuring->record.count));
	measuring_metric(measuring, "unseen_interrupts", (double)counts.unseen);
	measuring_metric(measuring, "timeouts", (double)module->timeouts);
	measuring_metric(measuring, "overwritten", (double)counts.overwritten);
	measuring_metric(measuring, "data_errors", (double)module->data_errors);
	measuring_metric(measuring, "bytes_per_event", module->digitizer.bytes);
	if (!measuring->record.count)
		return;
	cpu_ns -= chosen.work_ns * measuring->record.count;
	per_event_ns = (double)(cpu_ns + digitizer_thread_cpu_ns(&module->digitizer)) / events;
	measuring_metric(measuring, "interrupts_per_event", (double)counts.interrupts / events);
	measuring_metric(measuring, "interrupts_per_s",
			 (double)counts.interrupts * NSEC_PER_SEC /
				 ((double)counts.events * (double)measuring->role.interval_ns));
	measuring_metric(measuring, "copied_bytes_per_event", (double)counts.copied_bytes / events);
	measuring_metric(measuring, "cpu_ns_per_event", per_event_ns);
	measuring_metric(measuring, "cpu_ns_per_mb", per_event_ns * 1e6 / module->digitizer.bytes);
	measuring_metric(measuring, "whole_mean_ns", (double)module->whole_sum_ns / events);
	measuring_metric(measuring, "whole_max_ns", (double)module->whole_max_ns);
}

static void read_events(struct measuring *measuring)
{
	struct module *module = &modules[measuring->index];
	uint64_t interval_ns = measuring->role.interval_ns;
	uint64_t first_ns = measuring->start_ns + interval_ns, begun_ns;
	struct rtdaq_wait wait = { 0 };

	clock_sleep_until(measuring->start_ns);
	begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	measuring->error = digitizer_start(&module->digitizer, first_ns);
	while (!measuring->error && !measuring->record.threshold_reached &&
	       measuring_goes_on(measuring, clock_now_ns() + interval_ns)) {
		int result = digitizer_take(&module->digitizer, &wait);
		uint64_t now_ns = clock_now_ns();

		if (!result) {
			note_event(measuring, module, &wait, now_ns);
			module->data_errors += digitizer_errors(&module->digitizer, wait.event);
			if (chosen.work_ns)
				clock_work(chosen.work_ns);
		} else if (result == ETIMEDOUT) {
			module->timeouts++;
		} else if (result == EBUSY) {
			digitizer_await_idle(&module->digitizer);
		} else if (result != EINTR) {
			measuring->error = result;
		}
	}
	report(measuring, module, clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
	digitizer_close(&module->digitizer);
}

static const char *const metrics[] = {
	"lost",
	"unseen_interrupts",
	"timeouts",
	"overwritten",
	"data_errors",
	"bytes_per_event",
	"interrupts_per_event",
	"interrupts_per_s",
	"copied_bytes_per_event",
	"cpu_ns_per_event",
	"cpu_ns_per_mb",
	"whole_mean_ns",
	"whole_max_ns",
	NULL,
};

const struct probe daq_probe = {
	.name = "daq",
	.summary = "how long after its interrupt a program has a digitizer's data",
	.help = "Latency of a data acquisition: from the interrupt handler's time stamp until the waiting call\n"
		"returns with the digitizer's data. The digitizer is the module rtdaq, which must be loaded; each\n"
		"has a thread, on the CPUs of --cpus in turn.\n",
	.examples = "  rtscope-agent daq --transfer copy -D 1m\n"
		    "  rtscope-agent daq --interrupts channel --arm separate --work 2ms -D 10m\n",
	.module = "rtdaq",
	.options = options,
	.presets = presets,
	.metrics = metrics,
	.plan = plan,
};
