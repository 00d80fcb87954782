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

enum {
	OPTION_TRANSFER = 1,
	OPTION_ARM,
	OPTION_INTERRUPTS,
	OPTION_CHANNELS,
	OPTION_SAMPLES,
	OPTION_MODULES,
	OPTION_WORK,
	OPTION_IRQ_PRIORITY,
};

static const char *const transfers[] = { "copy", "mapped", "scatter", NULL };
static const char *const armings[] = { "separate", "atomic", NULL };
static const char *const interruptions[] = { "event", "channel", NULL };

#define ARM_ATOMIC 1

static struct {
	uint64_t transfer, arm, interrupts; /* places in the lists above */
	uint64_t channels, samples, modules;
	uint64_t irq_priority;
	uint64_t work_ns;
} chosen = {
	.transfer = RTDAQ_SCATTER,
	.arm = ARM_ATOMIC,
	.channels = 10,
	.samples = 1024,
	.modules = 1,
	.irq_priority = 90,
};

static struct module {
	struct digitizer digitizer;
	uint64_t last; /* number of the last event that was had */
	uint64_t data_errors;
	uint64_t timeouts;
	uint64_t whole_sum_ns, whole_max_ns; /* from an event's being ready until it was had */
} modules[RTDAQ_FILES_MAX];

static const struct option options[] = {
	{ "transfer", required_argument, NULL, OPTION_TRANSFER },
	{ "arm", required_argument, NULL, OPTION_ARM },
	{ "interrupts", required_argument, NULL, OPTION_INTERRUPTS },
	{ "channels", required_argument, NULL, OPTION_CHANNELS },
	{ "samples-per-channel", required_argument, NULL, OPTION_SAMPLES },
	{ "modules", required_argument, NULL, OPTION_MODULES },
	{ "work", required_argument, NULL, OPTION_WORK },
	{ "irq-priority", required_argument, NULL, OPTION_IRQ_PRIORITY },
	{ 0 },
};

static void set_defaults(struct session_options *session)
{
	session->interval_ns = NSEC_PER_SEC / 120;
}

static int take_word(const char *option, const char *text, const char *const *words,
		     uint64_t *place, const char *wanted, char *error, size_t error_size)
{
	for (*place = 0; words[*place]; ++*place) {
		if (!strcmp(text, words[*place]))
			return 0;
	}
	return option_refuse(option, text, wanted, error, error_size);
}

static int take_number(const char *option, const char *text, uint64_t most, uint64_t step,
		       uint64_t *number, char *error, size_t error_size)
{
	if (option_number(text, most, number) && *number && !(*number % step))
		return 0;
	if (step == 1)
		snprintf(error, error_size, "%s '%s' is not a number from 1 to %llu", option, text,
			 (unsigned long long)most);
	else
		snprintf(error, error_size, "%s '%s' is not a multiple of %llu up to %llu", option,
			 text, (unsigned long long)step, (unsigned long long)most);
	return -1;
}

static int take_option(int val, const char *text, char *error, size_t error_size)
{
	switch (val) {
	case OPTION_TRANSFER:
		return take_word("--transfer", text, transfers, &chosen.transfer,
				 "copy, mapped or scatter", error, error_size);
	case OPTION_ARM:
		return take_word("--arm", text, armings, &chosen.arm, "separate or atomic", error,
				 error_size);
	case OPTION_INTERRUPTS:
		return take_word("--interrupts", text, interruptions, &chosen.interrupts,
				 "event or channel", error, error_size);
	case OPTION_CHANNELS:
		return take_number("--channels", text, RTDAQ_CHANNELS_MAX, 1, &chosen.channels,
				   error, error_size);
	case OPTION_SAMPLES:
		return take_number("--samples-per-channel", text, NUMBER_MAX,
				   RTDAQ_BLOCK / RTDAQ_SAMPLE_BYTES, &chosen.samples, error,
				   error_size);
	case OPTION_MODULES:
		return take_number("--modules", text, RTDAQ_FILES_MAX, 1, &chosen.modules, error,
				   error_size);
	case OPTION_IRQ_PRIORITY:
		return take_number("--irq-priority", text, 99, 1, &chosen.irq_priority, error,
				   error_size);
	}
	if (option_time(text, NSEC_PER_USEC, &chosen.work_ns))
		return 0;
	return option_refuse("--work", text, "a time such as 2ms", error, error_size);
}

static void describe(struct json *json)
{
	json_string(json, "transfer", transfers[chosen.transfer]);
	json_string(json, "arm", armings[chosen.arm]);
	json_string(json, "interrupts", interruptions[chosen.interrupts]);
	json_u64(json, "channels", chosen.channels);
	json_u64(json, "samples_per_channel", chosen.samples);
	json_u64(json, "modules", chosen.modules);
	json_u64(json, "irq_priority", chosen.irq_priority);
	json_u64(json, "work_ns", chosen.work_ns);
}

static int check(const struct session_options *session, char *error, size_t error_size)
{
	uint64_t bytes = (chosen.channels + 1) * chosen.samples * RTDAQ_SAMPLE_BYTES;

	if (session->policy == POLICY_DEADLINE) {
		snprintf(error, error_size,
			 "--policy deadline does not fit: this probe's threads wait for a device; use fifo or other");
		return -1;
	}
	if (session->interval_ns < PERIOD_MIN_NS || session->interval_ns > PERIOD_MAX_NS) {
		snprintf(error, error_size, "--interval is not from 100us to 10s, as daq needs it");
		return -1;
	}
	if (bytes > RTDAQ_BYTES_MAX) {
		snprintf(error, error_size,
			 "--channels %llu of --samples-per-channel %llu and the readout would be %llu bytes, and an event has at most %u: take fewer",
			 (unsigned long long)chosen.channels, (unsigned long long)chosen.samples,
			 (unsigned long long)bytes, RTDAQ_BYTES_MAX);
		return -1;
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

static void tell(struct measuring *measuring, const struct module *module, uint64_t cpu_ns)
{
	double events = (double)measuring->record.count, per_event_ns;
	struct rtdaq_counts counts;

	measuring->error = measuring->error ?: digitizer_counts(&module->digitizer, &counts);
	if (measuring->error)
		return;
	measuring_fact(measuring, "lost", (double)(module->last - measuring->record.count));
	measuring_fact(measuring, "unseen_interrupts", (double)counts.unseen);
	measuring_fact(measuring, "timeouts", (double)module->timeouts);
	measuring_fact(measuring, "overwritten", (double)counts.overwritten);
	measuring_fact(measuring, "data_errors", (double)module->data_errors);
	measuring_fact(measuring, "bytes_per_event", module->digitizer.bytes);
	if (!measuring->record.count)
		return;
	cpu_ns -= chosen.work_ns * measuring->record.count;
	per_event_ns = (double)(cpu_ns + digitizer_thread_cpu_ns(&module->digitizer)) / events;
	measuring_fact(measuring, "interrupts_per_event", (double)counts.interrupts / events);
	measuring_fact(measuring, "interrupts_per_s",
		       (double)counts.interrupts * NSEC_PER_SEC /
			       ((double)counts.events * (double)measuring->role.interval_ns));
	measuring_fact(measuring, "copied_bytes_per_event", (double)counts.copied_bytes / events);
	measuring_fact(measuring, "cpu_ns_per_event", per_event_ns);
	measuring_fact(measuring, "cpu_ns_per_mb", per_event_ns * 1e6 / module->digitizer.bytes);
	measuring_fact(measuring, "whole_mean_ns", (double)module->whole_sum_ns / events);
	measuring_fact(measuring, "whole_max_ns", (double)module->whole_max_ns);
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
	tell(measuring, module, clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
	digitizer_close(&module->digitizer);
}

static const char *const facts[] = {
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

static const struct probe probe = {
	.name = "daq",
	.help = "How long after its interrupt a program has a digitizer's data: from the handler's time\n"
		"stamp to the return of the call that waits. The digitizer is the module rtdaq; each has\n"
		"a thread, on the CPUs of --cpus in turn. --interval is 1/120 s unless given.\n\n"
		"      --transfer WAY       copy: to a buffer of the kernel's and from there to the\n"
		"                           program's; mapped: to one that the program has mapped;\n"
		"                           scatter: to the program's own pages (scatter)\n"
		"      --arm WAY            separate: one call arms and another waits; atomic: one call\n"
		"                           does both (atomic)\n"
		"      --interrupts WAY     event: one for all of it; channel: one for the event, and one\n"
		"                           for each channel, which is asked for by itself (event)\n"
		"      --channels N         channels, to 64; an event has one more, the readout (10)\n"
		"      --samples-per-channel N  of 2 bytes each, a multiple of 512 (1024)\n"
		"      --modules N          digitizers, to 8, all with their events at the same time (1)\n"
		"      --work TIME          CPU time that each event is computed with; bare: us (0)\n"
		"      --irq-priority N     of the interrupt's thread; the kernel gives 50 (90)\n",
	.examples = "  rtscope-agent daq --transfer copy -D 1m\n"
		    "  rtscope-agent daq --interrupts channel --arm separate --work 2ms -D 10m\n",
	.options = options,
	.short_options = "",
	.defaults = set_defaults,
	.option = take_option,
	.describe = describe,
	.facts = facts,
	.plan = plan,
};

int daq_main(int argc, char **argv)
{
	return session_main(&probe, argc, argv);
}
