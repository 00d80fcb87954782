// SPDX-License-Identifier: GPL-2.0-only
/* The options that every probe takes. Names follow cyclictest where it has them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "session/session.h"
#include "tune/journal.h"

#define WATCHDOG_MIN_NS (100 * NSEC_PER_MSEC)
#define PROGRESS_MIN_NS (10 * NSEC_PER_MSEC)

enum {
	OPTION_POLICY = 256,
	OPTION_LOAD,
	OPTION_LOAD_CPUS,
	OPTION_SEED,
	OPTION_JSON,
	OPTION_PROGRESS,
	OPTION_WATCHDOG,
	OPTION_SAMPLES_FILE,
	OPTION_WORST,
	OPTION_DRY_RUN,
	OPTION_DEFAULT_DURATION,
	OPTION_TUNE,
	OPTION_TUNE_JOURNAL,
	OPTION_CPU_COUNTS,
	OPTION_IDLE_STATES,
};

static const char short_options[] = ":a:b:D:hi:l:mNnp:qS";

static const struct option common[] = {
	{ "cpus", required_argument, NULL, 'a' },
	{ "affinity", required_argument, NULL, 'a' },
	{ "break", required_argument, NULL, 'b' },
	{ "duration", required_argument, NULL, 'D' },
	{ "help", no_argument, NULL, 'h' },
	{ "interval", required_argument, NULL, 'i' },
	{ "samples", required_argument, NULL, 'l' },
	{ "loops", required_argument, NULL, 'l' },
	{ "mlockall", no_argument, NULL, 'm' },
	{ "nanosleep", no_argument, NULL, 'n' },
	{ "nsecs", no_argument, NULL, 'N' },
	{ "priority", required_argument, NULL, 'p' },
	{ "prio", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "smp", no_argument, NULL, 'S' },
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "load", required_argument, NULL, OPTION_LOAD },
	{ "load-cpus", required_argument, NULL, OPTION_LOAD_CPUS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "progress", required_argument, NULL, OPTION_PROGRESS },
	{ "watchdog", required_argument, NULL, OPTION_WATCHDOG },
	{ "samples-file", required_argument, NULL, OPTION_SAMPLES_FILE },
	{ "worst", required_argument, NULL, OPTION_WORST },
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ "default-duration", required_argument, NULL, OPTION_DEFAULT_DURATION },
	{ "tune", required_argument, NULL, OPTION_TUNE },
	{ "tune-journal", required_argument, NULL, OPTION_TUNE_JOURNAL },
	{ "cpu-counts", no_argument, NULL, OPTION_CPU_COUNTS },
	{ "idle-states", required_argument, NULL, OPTION_IDLE_STATES },
};

#define COMMON_COUNT (sizeof(common) / sizeof(common[0]))

static void set_defaults(const struct probe *probe, struct session_options *options)
{
	*options = (struct session_options){
		.cpus = "all",
		.policy = POLICY_FIFO,
		.priority = 80,
		.interval_ns = NSEC_PER_MSEC,
		.progress_ns = 250 * NSEC_PER_MSEC,
		.watchdog_ns = 10 * NSEC_PER_SEC,
		.seed = 1,
		.tune_journal = TUNE_JOURNAL,
		.idle = { .mode = IDLE_OFF },
		.worst = 10,
	};
	if (probe->defaults)
		probe->defaults(options);
}

void session_help(const struct probe *probe)
{
	struct session_options options;

	set_defaults(probe, &options);
	printf("usage: rtscope-agent %s [OPTIONS]%s\n\n%s", probe->name,
	       probe->takes_command ? " -- COMMAND [ARGUMENT...]" : "", probe->help);
	fputs("\n"
	      "  -a, --cpus LIST          measure on these CPUs, one thread each: 0-3,8 or all (all)\n"
	      "  -i, --interval TIME      time between two deadlines; bare numbers are us (1000us)\n"
	      "  -p, --priority N         SCHED_FIFO priority, 1 to 99 (80)\n"
	      "      --policy POLICY      fifo, deadline or other (fifo)\n"
	      "  -D, --duration TIME      measure for this long; bare numbers are seconds\n"
	      "  -l, --samples N          measure this many samples a thread\n"
	      "      --default-duration TIME  as -D, where nothing else says when to end\n"
	      "  -b, --break TIME         stop at the first latency of TIME or more; bare: us. If the\n"
	      "                           kernel traces, its trace gets a marker and is stopped, too\n"
	      "      --worst N            keep the N worst samples of each thread (10)\n"
	      "      --samples-file FILE  write every sample to FILE\n"
	      "      --load LOAD          run LOAD beside the measurement; may be repeated\n"
	      "      --load-cpus LIST     keep the loads on these CPUs (all)\n"
	      "      --tune RULE          change the machine while it is measured, as rtscope-agent tune\n"
	      "                           --help tells; may be repeated\n"
	      "      --tune-journal DIR   where that is written down (" TUNE_JOURNAL ")\n",
	      stdout);
	printf("      --idle-states STATES idle states while measuring. off: hold /dev/cpu_dma_latency\n"
	       "                           at 0, as cyclictest does. limit:TIME: hold it at TIME; bare:\n"
	       "                           us. default: leave it as it is (%s; default with --tune\n"
	       "                           'latency ...')\n",
	       idle_mode_name(options.idle.mode));
	fputs("      --cpu-counts         tell each CPU's interrupts of devices and switches of threads\n"
	      "      --seed N             seed of loads and phases (1)\n"
	      "      --watchdog TIME      end when measuring starves the machine this long (10s)\n"
	      "      --json               write the protocol instead of a table\n"
	      "      --progress TIME      a progress line this often, 0 for none (250ms)\n"
	      "  -N, --nsecs              show nanoseconds\n"
	      "  -q, --quiet              show only the result\n"
	      "      --dry-run            check all options, say what would run, start nothing\n"
	      "  -m, -n, -S               as for cyclictest, and always so: memory locked, absolute\n"
	      "                           sleeps, a thread a CPU\n"
	      "  -h, --help               this text\n"
	      "\n"
	      "Without a duration or a number of samples it measures until Ctrl-C.\n"
	      "\nExit status: 0 the run ended as asked or was interrupted; 1 it could not measure or\n"
	      "write the result; 2 bad options; 3 the watchdog ended the run.\n"
	      "\nLoads, as NAME or NAME:STRENGTH, joined by '+':\n",
	      stdout);
	for (const char *const *name = load_names(); *name; name++)
		printf("  %-10s %s\n", *name, load_help(*name));
	printf("\nExamples:\n%s", probe->examples);
}

static int refuse(char *error, size_t error_size, const char *option, const char *argument,
		  const char *wanted)
{
	snprintf(error, error_size, "%s '%s' is not %s", option, argument, wanted);
	return -1;
}

static int take_policy(struct session_options *options, const char *text, char *error,
		       size_t error_size)
{
	for (enum policy policy = POLICY_FIFO; policy <= POLICY_OTHER; policy++) {
		if (!strcmp(text, policy_name(policy))) {
			options->policy = policy;
			return 0;
		}
	}
	return refuse(error, error_size, "--policy", text, "fifo, deadline or other");
}

static int take(struct session_options *options, int val, const char *text, char *error,
		size_t error_size)
{
	uint64_t number = 0;

	switch (val) {
	case 'a':
		options->cpus = text;
		return 0;
	case 'b':
		if (!option_time(text, NSEC_PER_USEC, &options->threshold_ns) ||
		    !options->threshold_ns)
			return refuse(error, error_size, "--break", text, "a time such as 100us");
		return 0;
	case 'D':
		if (!option_time(text, NSEC_PER_SEC, &options->duration_ns) ||
		    !options->duration_ns)
			return refuse(error, error_size, "--duration", text,
				      "a time such as 30s or 5m");
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case 'i':
		if (!option_time(text, NSEC_PER_USEC, &options->interval_ns) ||
		    options->interval_ns < INTERVAL_MIN_NS ||
		    options->interval_ns > 3600 * NSEC_PER_SEC)
			return refuse(error, error_size, "--interval", text,
				      "a time from 10us to 1h");
		return 0;
	case 'l':
		if (!option_number(text, INT64_MAX, &options->samples) || !options->samples)
			return refuse(error, error_size, "--samples", text, "a number from 1");
		return 0;
	case 'm':
	case 'n':
	case 'S':
		return 0; /* cyclictest's, and always so here */
	case 'N':
		options->nanoseconds = true;
		return 0;
	case 'p':
		if (!option_number(text, 99, &number) || !number)
			return refuse(error, error_size, "--priority", text,
				      "a number from 1 to 99");
		options->priority = (unsigned int)number;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPTION_POLICY:
		return take_policy(options, text, error, error_size);
	case OPTION_LOAD:
		if (options->load_count == LOADS_MAX)
			return refuse(error, error_size, "--load", text,
				      "possible beside 16 others");
		options->loads[options->load_count++] = text;
		return 0;
	case OPTION_LOAD_CPUS:
		options->load_cpus = text;
		return 0;
	case OPTION_TUNE:
		if (options->tune_count == TUNE_RULES_MAX)
			return refuse(error, error_size, "--tune", text,
				      "possible beside 64 others");
		options->tunes[options->tune_count++] = (char *)text;
		return 0;
	case OPTION_TUNE_JOURNAL:
		options->tune_journal = text;
		return 0;
	case OPTION_IDLE_STATES:
		if (!idle_states_parse(text, &options->idle))
			return refuse(error, error_size, "--idle-states", text,
				      "default, off or limit:TIME with whole us below 2000s, such as limit:50us");
		return 0;
	case OPTION_CPU_COUNTS:
		options->cpu_counts = true;
		return 0;
	case OPTION_SEED:
		if (!option_number(text, UINT64_MAX, &options->seed))
			return refuse(error, error_size, "--seed", text, "a number");
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_PROGRESS:
		if (!option_time(text, NSEC_PER_MSEC, &options->progress_ns) ||
		    (options->progress_ns && options->progress_ns < PROGRESS_MIN_NS))
			return refuse(error, error_size, "--progress", text,
				      "0 or a time from 10ms");
		return 0;
	case OPTION_WATCHDOG:
		if (!option_time(text, NSEC_PER_SEC, &options->watchdog_ns) ||
		    options->watchdog_ns < WATCHDOG_MIN_NS)
			return refuse(error, error_size, "--watchdog", text, "a time from 100ms");
		return 0;
	case OPTION_DEFAULT_DURATION:
		if (!option_time(text, NSEC_PER_SEC, &options->default_duration_ns) ||
		    !options->default_duration_ns)
			return refuse(error, error_size, "--default-duration", text,
				      "a time such as 30s or 5m");
		return 0;
	case OPTION_DRY_RUN:
		options->dry_run = true;
		return 0;
	case OPTION_SAMPLES_FILE:
		options->samples_file = text;
		return 0;
	case OPTION_WORST:
		if (!option_number(text, WORST_MAX, &number))
			return refuse(error, error_size, "--worst", text, "a number up to 64");
		options->worst = (unsigned int)number;
		return 0;
	}
	return -1;
}

static bool owns(const struct probe *probe, int val)
{
	for (const struct option *own = probe->options; own->name; own++) {
		if (own->val == val)
			return true;
	}
	return false;
}

/* What cyclictest's users ask for here by another name. */
static const struct {
	const char *option;
	const char *instead;
} cyclictest_options[] = {
	{ "-t", "each of --cpus gets one thread: instead of -t N use --cpus 0-(N-1)" },
	{ "--threads",
	  "each of --cpus gets one thread: instead of --threads N use --cpus 0-(N-1)" },
	{ "--hist",
	  "every run keeps a histogram of all samples: leave the option out; --json prints it" },
};

static void refuse_unknown(const struct probe *probe, const char *word, bool lacks_value,
			   char *error, size_t error_size)
{
	if (lacks_value) {
		snprintf(error, error_size, "%s needs a value; see rtscope-agent %s --help", word,
			 probe->name);
		return;
	}
	for (size_t i = 0; i < sizeof(cyclictest_options) / sizeof(*cyclictest_options); i++) {
		const char *option = cyclictest_options[i].option;

		if (!strncmp(word, option, strlen(option))) {
			snprintf(error, error_size, "no option '%s': %s", word,
				 cyclictest_options[i].instead);
			return;
		}
	}
	snprintf(error, error_size, "no option '%s'; rtscope-agent %s --help lists them", word,
		 probe->name);
}

int session_parse(const struct probe *probe, int argc, char **argv, struct session_options *options,
		  char *error, size_t error_size)
{
	struct option all[COMMON_COUNT + PROBE_OPTIONS_MAX + 1] = { 0 };
	char letters[sizeof(short_options) + 2 * PROBE_OPTIONS_MAX];
	uint64_t default_samples;
	size_t count = COMMON_COUNT;
	int val, result;

	set_defaults(probe, options);
	default_samples = options->samples;
	options->samples = 0;
	memcpy(all, common, sizeof(common));
	for (const struct option *own = probe->options; own->name; own++)
		all[count++] = *own;
	snprintf(letters, sizeof(letters), "%s%s", short_options, probe->short_options);

	opterr = 0;
	optind = 0; /* both libcs then forget an earlier command line */
	while ((val = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		const char *word = argv[optind <= argc ? optind - 1 : argc - 1];

		char letter[] = "-?";

		if (val == '?' && optopt > 0 &&
		    optopt < 128) { /* perhaps one of several in a word */
			letter[1] = (char)optopt;
			word = letter;
		}
		if (val == '?' || val == ':') {
			refuse_unknown(probe, word, val == ':', error, error_size);
			return -1;
		}
		if (owns(probe, val))
			result = probe->option(val, optarg, error, error_size);
		else
			result = take(options, val, optarg, error, error_size);
		if (result)
			return -1;
	}
	if (!options->samples && !options->duration_ns)
		options->samples = default_samples;
	if (!options->samples && !options->duration_ns)
		options->duration_ns = options->default_duration_ns;
	if (optind < argc && probe->takes_command) {
		options->command = argv + optind;
	} else if (optind < argc) {
		snprintf(error, error_size,
			 "'%s' is not an option; rtscope-agent %s --help lists them", argv[optind],
			 probe->name);
		return -1;
	}
	return 0;
}
