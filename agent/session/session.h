/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: the life of one probe, from its options to its last line.
 *
 * A probe brings its own options and the body of its measuring threads; all
 * else is the same for every probe and lives here: CPUs, priorities, memory,
 * loads, warnings, progress, the watchdog, and the two ways of writing results.
 *
 * The watchdog is a lease. Measuring threads wait for no deadline later than
 * control.until_ns, and the housekeeping thread, which runs at normal
 * priority, keeps moving that forward. If measuring starves the machine, the
 * lease is not renewed and measuring ends by itself.
 */
#ifndef RTSCOPE_SESSION_H
#define RTSCOPE_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/options.h"
#include "proc/realtime.h"
#include "load/load.h"
#include "proc/cpu_counts.h"
#include "proc/cpus.h"
#include "session/idle_states.h"
#include "session/record.h"
#include "tune/session.h"

#define PROBE_METRICS_MAX 16
/* Metrics of a thread's CPU, with --cpu-counts. */
#define SESSION_METRIC_INTERRUPTS "device_interrupts"
#define SESSION_METRIC_SWITCHES	  "switches"
#define ROLES_MAX		  (CPUS_MAX + 64)
#define INTERVAL_MIN_NS		  10000ULL

struct session_options {
	const char *cpus;
	const char *samples_file;
	const char *loads[LOADS_MAX];
	const char *load_cpus; /* those of the loads; NULL: all */
	char **command;	       /* the words after the options, NULL-terminated; NULL: none */
	unsigned int load_count;
	const char *tunes[TUNE_RULES_MAX];
	unsigned int tune_count;
	const char *tune_journal;
	struct idle_states idle;
	bool cpu_counts;
	enum policy policy;
	unsigned int priority;
	uint64_t interval_ns;
	uint64_t duration_ns;	      /* 0: none */
	uint64_t default_duration_ns; /* where neither the user nor the probe has an end; 0: none */
	uint64_t samples;	      /* 0: none */
	uint64_t threshold_ns;	      /* 0: none */
	uint64_t progress_ns;	      /* 0: silent */
	uint64_t watchdog_ns;
	uint64_t seed;
	unsigned int worst;
	unsigned int explain; /* worst samples whose trace is wanted */
	uint64_t above_ns;    /* only samples of that and more; 0: any */
	unsigned int deep;    /* enum trace_deep */
	bool explain_stream;  /* each sample of above_ns as it comes */
	bool league;
	unsigned int exceedances; /* largest samples that are wanted with their times */
	bool json;
	bool nanoseconds;
	bool quiet;
	bool dry_run;
	bool help;
};

struct measuring;
struct sched_event;

/* A thread that a probe wants. */
struct role {
	const char *name; /* distinguishes it from the probe's others; "" for one kind */
	void (*body)(struct measuring *measuring);
	int cpu;	       /* -1: not pinned */
	unsigned int priority; /* for FIFO; lowered where this user may not have it; 0: ordinary */
	uint64_t interval_ns;  /* between two samples; 0 where that is not fixed */
	bool silent; /* has no metrics and no record; is ended when the others have ended */
	bool spins;  /* uses its whole CPU on purpose */
};

struct measuring {
	const struct session_options *options;
	struct control *control;
	struct role role;
	unsigned int index;
	struct schedule schedule;
	uint64_t start_ns;
	uint64_t end_ns;  /* UINT64_MAX: no end */
	uint64_t samples; /* UINT64_MAX: no limit */
	struct record record;
	unsigned int metric_count;
	struct {
		const char *key;
		double value;
	} metric[PROBE_METRICS_MAX];

	pthread_t thread;
	int tid;
	int error;	     /* errno of a failed set-up */
	const char *failure; /* a sentence where @error says too little */
	bool moved;	     /* it was no longer on its CPU when the body returned */
	uint64_t ended_ns;   /* when the body returned */
	bool completed;	     /* set by the body: it came to the end that was asked */
	bool done;
	struct cpu_counts at_start; /* of its CPU */
	struct {		    /* the housekeeping thread's last reading */
		uint64_t count;
		uint64_t sum_ns;
		uint64_t cpu_ns;
		uint64_t cpu_checked_ns;
		uint64_t coarse[HISTOGRAM_COARSE_BUCKETS]; /* of its histogram, as last reported */
	} seen;
};

struct probe {
	const char *name;
	const char *summary; /* one line for the list of commands */
	const char *help;    /* paragraphs that --help prints above the options */
	const char *examples;
	const struct option_spec *options;   /* its own; NULL: none */
	const struct option_preset *presets; /* its defaults of the session's options; may be NULL */
	const char *module;		     /* of ours, which must be loaded; NULL: none */
	const char *module_if; /* OPTION=CHOICE with which alone it needs it; NULL: always */
	uint64_t samples;      /* its default, which gives way to --duration; 0: none */
	bool takes_command;    /* words after its options are a user's command */
	/* Add to the start line's object "options" what its options do not say; may be NULL. */
	void (*describe)(struct json *json);
	/* All metrics that its threads may have, a NULL last; N stands for a number. NULL: none. */
	const char *const *metrics;
	/*
	 * The threads it wants for @cpus, at most ROLES_MAX. Returns their number, or -1 with
	 * a sentence in @error.
	 */
	int (*plan)(const struct session_options *options, const struct cpus *cpus,
		    struct role *roles, char *error, size_t error_size);
	/* Add to a thread's line in the protocol; may be NULL. */
	void (*add)(const struct measuring *measuring, struct json *json);
	/* Write lines of its own after those of the threads; may be NULL. */
	void (*write)(struct json *json);
	/*
	 * A probe whose samples come from the kernel's trace: each switch and wake-up, in the order of
	 * time of each CPU, then a call after each round of reading. All events before @until_ns were
	 * given; @lost: some are missing. The housekeeping thread calls both. NULL: it has no use for
	 * them.
	 */
	bool (*needs_trace)(void); /* whether it has, with its options */
	void (*sched_event)(const struct sched_event *event, void *data);
	void (*sched_round)(struct measuring *measuring, uint64_t until_ns, bool lost);
	/* More for a person to read below the table of threads and its metrics; may be NULL. */
	void (*print)(FILE *out, const struct measuring *measuring, unsigned int count);
};

/*
 * The lease ends before @due_ns, or there are enough samples. Returns whether the thread goes on
 * nevertheless, because the lease was renewed after a moment. Then record_add() rejects the sample
 * that this wait is part of.
 */
bool measuring_lease_renewed(struct measuring *measuring, uint64_t due_ns);

/* Whether the thread may still wait for @due_ns; notes when it is past the end asked for. */
static inline bool measuring_goes_on(struct measuring *measuring, uint64_t due_ns)
{
	if (due_ns < record_get(measuring->control->until_ns) &&
	    record_get(measuring->record.count) < measuring->samples)
		return true;
	return measuring_lease_renewed(measuring, due_ns);
}

/* One more metric of this thread besides those of its record. @key names the unit. */
void measuring_metric(struct measuring *measuring, const char *key, double value);

/* Warn of what makes the metrics less certain, from plan(). */
void session_warn(const char *code, const char *text);

/* Read the command line. Returns 0, or -1 with a sentence in @error. */
int session_parse(const struct probe *probe, int argc, char **argv, struct session_options *options,
		  char *error, size_t error_size);
void session_help(const struct probe *probe);

/* The options of every probe. */
extern const struct option_spec session_options_table[];

/* Run @probe; the agent's exit status. */
int session_main(const struct probe *probe, int argc, char **argv);

#endif
