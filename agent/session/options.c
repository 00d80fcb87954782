// SPDX-License-Identifier: GPL-2.0-only
/* The options of every probe. Names follow cyclictest where it has them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "session/session.h"
#include "trace/events.h"
#include "tune/journal.h"

#define WATCHDOG_MIN_NS (100 * NSEC_PER_MSEC)
#define PROGRESS_MIN_NS (10 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (3600 * NSEC_PER_SEC)

static struct session_options set;

static bool parse_idle_states(const char *text, void *value)
{
	return idle_states_parse(text, value);
}

const struct option_spec session_options_table[] = {
	{ .name = "cpus",
	  .alias = "affinity",
	  .letter = 'a',
	  .kind = OPTION_TEXT,
	  .metavar = "LIST",
	  .preset = "all",
	  .help = "Measure on these CPUs, such as 0-3,8; first or all",
	  .value = &set.cpus },
	{ .name = "interval",
	  .letter = 'i',
	  .kind = OPTION_TIME,
	  .min = INTERVAL_MIN_NS,
	  .max = INTERVAL_MAX_NS,
	  .preset = "1ms",
	  .help = "Interval between two deadlines",
	  .value = &set.interval_ns },
	{ .name = "priority",
	  .alias = "prio",
	  .letter = 'p',
	  .kind = OPTION_UINT,
	  .min = 1,
	  .max = 99,
	  .preset = "80",
	  .help = "SCHED_FIFO priority of the measuring threads",
	  .value = &set.priority },
	{ .name = "policy",
	  .kind = OPTION_CHOICE,
	  .choices = policy_names,
	  .metavar = "POLICY",
	  .preset = "fifo",
	  .help = "Scheduling policy of the measuring threads",
	  .value = &set.policy },
	{ .name = "duration",
	  .letter = 'D',
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_SEC,
	  .min = 1,
	  .help = "Measure for TIME, such as 30s, 5m or 8h",
	  .value = &set.duration_ns },
	{ .name = "samples",
	  .alias = "loops",
	  .letter = 'l',
	  .kind = OPTION_NUMBER,
	  .min = 1,
	  .help = "Stop after N samples per thread",
	  .value = &set.samples },
	{ .name = "default-duration",
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_SEC,
	  .min = 1,
	  .internal = true,
	  .help = "As --duration, where neither it nor --samples is given and the probe has no default",
	  .value = &set.default_duration_ns },
	{ .name = "break",
	  .letter = 'b',
	  .kind = OPTION_TIME,
	  .min = 1,
	  .help = "Stop at the first latency of TIME or more; mark and stop a running kernel trace there",
	  .value = &set.threshold_ns },
	{ .name = "worst",
	  .kind = OPTION_UINT,
	  .max = WORST_MAX,
	  .preset = "10",
	  .help = "Keep the N worst samples of each thread, with their times",
	  .value = &set.worst },
	{ .name = "exceedances",
	  .kind = OPTION_UINT,
	  .max = EXCEEDANCES_MAX,
	  .preset = "0",
	  .help = "Keep the N largest samples of each thread or more, up to twice as many, with their times, for the tail's bounds; needs --json",
	  .value = &set.exceedances },
	{ .name = "explain",
	  .kind = OPTION_UINT,
	  .min = 1,
	  .max = WORST_MAX,
	  .help = "Record the kernel's trace around the N worst samples; needs --json",
	  .value = &set.explain },
	{ .name = "above",
	  .kind = OPTION_TIME,
	  .min = 1,
	  .help = "Record the kernel's trace around samples of TIME or more only: the worst of them, or those that --explain asks for",
	  .value = &set.above_ns },
	{ .name = "explain-deep",
	  .kind = OPTION_CHOICE,
	  .choices = trace_deep_names,
	  .metavar = "TRACER",
	  .preset = "none",
	  .help = "Record functions, or where interrupts and preemption are disabled, too: the system gets up to 10 times slower",
	  .value = &set.deep },
	{ .name = "explain-stream",
	  .kind = OPTION_FLAG,
	  .internal = true,
	  .help = "Write the trace around each sample of --above soon after it, about one a second",
	  .value = &set.explain_stream },
	{ .name = "league",
	  .kind = OPTION_FLAG,
	  .help = "Report the time that each program took from the measured CPUs; needs --json",
	  .value = &set.league },
	{ .name = "samples-file",
	  .kind = OPTION_TEXT,
	  .metavar = "FILE",
	  .help = "Write every sample to FILE, as TSV",
	  .value = &set.samples_file },
	{ .name = "load",
	  .kind = OPTION_WORDS,
	  .max = LOADS_MAX,
	  .metavar = "LOAD",
	  .help = "Measure under LOAD, such as mixed or files:50+network:1; may be repeated",
	  .value = set.loads,
	  .count = &set.load_count },
	{ .name = "load-cpus",
	  .kind = OPTION_TEXT,
	  .metavar = "LIST",
	  .computed = "all",
	  .help = "Keep the loads on these CPUs",
	  .value = &set.load_cpus },
	{ .name = "seed",
	  .kind = OPTION_NUMBER,
	  .preset = "1",
	  .help = "Seed of loads and phases",
	  .value = &set.seed },
	{ .name = "idle-states",
	  .kind = OPTION_PARSED,
	  .metavar = "STATES",
	  .preset = "off",
	  .wanted = "default, off or limit:TIME with whole us below 2000s, such as limit:50us",
	  .help = "Idle states while measuring. off: hold /dev/cpu_dma_latency at 0, as cyclictest "
		  "does; limit:TIME: hold it at TIME (default unit: us); default: leave the system as it is",
	  .parse = parse_idle_states,
	  .value = &set.idle,
	  .given = &set.idle.given },
	{ .name = "watchdog",
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_SEC,
	  .min = WATCHDOG_MIN_NS,
	  .preset = "10s",
	  .help = "Abort if measuring starves the system for TIME",
	  .value = &set.watchdog_ns },
	{ .name = "cpu-counts",
	  .kind = OPTION_FLAG,
	  .help = "Report the device interrupts and the context switches of each CPU",
	  .value = &set.cpu_counts },
	{ .name = "tune",
	  .kind = OPTION_WORDS,
	  .max = TUNE_RULES_MAX,
	  .metavar = "RULE",
	  .help = "Tune the system by RULE while measuring, see rtscope-agent tune --help; may be repeated",
	  .value = set.tunes,
	  .count = &set.tune_count },
	{ .name = "tune-journal",
	  .kind = OPTION_TEXT,
	  .metavar = "DIR",
	  .preset = TUNE_JOURNAL,
	  .help = "Folder of the journal of --tune",
	  .value = &set.tune_journal },
	{ .name = "progress",
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_MSEC,
	  .min = PROGRESS_MIN_NS,
	  .zero = true,
	  .preset = "250ms",
	  .help = "Interval between progress lines; 0 for none",
	  .value = &set.progress_ns },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol",
	  .value = &set.json },
	{ .name = "nsecs",
	  .letter = 'N',
	  .kind = OPTION_FLAG,
	  .help = "Print nanoseconds instead of us",
	  .value = &set.nanoseconds },
	{ .name = "quiet",
	  .letter = 'q',
	  .kind = OPTION_FLAG,
	  .help = "Print only the result",
	  .value = &set.quiet },
	{ .name = "dry-run",
	  .kind = OPTION_FLAG,
	  .help = "Check all options and print what would run; start nothing",
	  .value = &set.dry_run },
	{ .name = "mlockall",
	  .letter = 'm',
	  .kind = OPTION_IGNORED,
	  .help = "Accepted for cyclictest: memory is always locked" },
	{ .name = "nanosleep",
	  .letter = 'n',
	  .kind = OPTION_IGNORED,
	  .help = "Accepted for cyclictest: sleeps are always absolute" },
	{ .name = "smp",
	  .letter = 'S',
	  .kind = OPTION_IGNORED,
	  .help = "Accepted for cyclictest: each CPU always has its thread" },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &set.help },
	{ 0 },
};

void session_help(const struct probe *probe)
{
	printf("usage: rtscope-agent %s [OPTIONS]%s\n\n%s\n", probe->name,
	       probe->takes_command ? " -- COMMAND [ARGUMENT...]" : "", probe->help);
	if (probe->options)
		options_help(probe->options, NULL, stdout);
	puts("");
	options_help(session_options_table, probe->presets, stdout);
	fputs("\n"
	      "Without a duration or a number of samples it measures until Ctrl-C. Default units apply to\n"
	      "numbers without a unit; units are ns, us, ms, s, m, h and d.\n"
	      "\n"
	      "Exit status: 0 the run ended as asked or was interrupted; 1 it could not measure or write\n"
	      "the result; 2 bad options; 3 the watchdog ended the run.\n"
	      "\n"
	      "Loads, as NAME or NAME:STRENGTH, joined by '+':\n",
	      stdout);
	for (const char *const *name = load_names(); *name; name++)
		printf("  %-10s %s\n", *name, load_help(*name));
	printf("\nExamples:\n%s", probe->examples);
}

int session_parse(const struct probe *probe, int argc, char **argv, struct session_options *options,
		  char *error, size_t error_size)
{
	const struct option_set all = {
		.command = probe->name,
		.own = probe->options,
		.common = session_options_table,
		.presets = probe->presets,
	};
	int words;

	set = (struct session_options){ 0 };
	words = options_parse(&all, argc, argv, error, error_size);
	*options = set;
	if (words < 0)
		return -1;
	/* A probe's number of samples gives way to --duration, and --default-duration to it. */
	if (!options->samples && !options->duration_ns)
		options->samples = probe->samples;
	if (!options->samples && !options->duration_ns)
		options->duration_ns = options->default_duration_ns;
	if (words && !probe->takes_command) {
		snprintf(error, error_size,
			 "'%.200s' is not an option; rtscope-agent %s --help lists them", argv[1],
			 probe->name);
		return -1;
	}
	options->command = words ? argv + 1 : NULL;
	return 0;
}
