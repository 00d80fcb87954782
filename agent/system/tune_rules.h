/* SPDX-License-Identifier: GPL-2.0-only */
/* What of a machine is to be tuned, and how: the rules of a profile, one word each. */
#ifndef RTSCOPE_SYSTEM_TUNE_RULES_H
#define RTSCOPE_SYSTEM_TUNE_RULES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tune_rule_kind {
	RULE_THREAD,
	RULE_TASKS,
	RULE_INTERRUPTS,
	RULE_INTERRUPT,
	RULE_FILE,
	RULE_PARTITION,
	RULE_IRQBALANCE,
	RULE_BOOT,
	RULE_LATENCY,
};

enum tune_owner {
	OWNER_ANY,
	OWNER_KERNEL,
	OWNER_PROGRAM,
};

struct tune_rule {
	enum tune_rule_kind kind;
	const char *text;  /* the word itself */
	const char *name;  /* a pattern of thread names, interrupts or paths */
	const char *value; /* of a file; parameters of the kernel */
	enum tune_owner owner;
	int policy;   /* the kernel's number; -1: as it is */
	int priority; /* of fifo and rr */
	bool has_nice;
	int nice;
	bool has_cpus;
	cpu_set_t cpus; /* those to be on, or to keep off */
	uint64_t limit_ns;
	bool matched; /* something, so far */
	char *cut;    /* what name and value are pieces of */
};

struct tune_rules {
	const char *profile; /* whose they are */
	struct tune_rule *rule;
	unsigned int count;
};

/*
 * Read @words, each a rule, and hold them against this machine: their CPUs are online, and CPU 0
 * stays usable. Returns 0, or -1 with a sentence in @error.
 */
int tune_rules_parse(char **words, unsigned int count, struct tune_rules *rules, char *error,
		     size_t error_size);
void tune_rules_free(struct tune_rules *rules);

/* Leave out those of this kind; whether there were any. */
bool tune_rules_leave_out(struct tune_rules *rules, enum tune_rule_kind kind);

/* Whether there is a rule of this kind. */
bool tune_rules_have(const struct tune_rules *rules, enum tune_rule_kind kind);

/* The CPUs of all rules of this kind. */
void tune_rules_cpus(const struct tune_rules *rules, enum tune_rule_kind kind, cpu_set_t *cpus);

/* What the rules want of a thread; the last that says something of it wins. */
struct tune_wish {
	int policy; /* -1: as it is */
	int priority;
	bool has_nice;
	int nice;
	bool has_cpus;
	bool explicit_cpus; /* by a rule that names the thread */
	cpu_set_t cpus;
};

/* Of the thread @name; @cpus: those it may run on now. A blank of the name matches '?'. */
void tune_rules_match_thread(const struct tune_rules *rules, const char *name, bool kernel,
			     const cpu_set_t *cpus, struct tune_wish *wish);

/*
 * Of an interrupt that @names (ends with NULL) act on: whether a rule says where it goes; @cpus are
 * those it may go to now, and then those that it is to go to.
 */
bool tune_rules_match_interrupt(const struct tune_rules *rules, const char *const *names,
				cpu_set_t *cpus);

/* "fifo" and so on for the kernel's number; NULL for one that no rule can name. */
const char *tune_policy_name(int policy);
/* -1 where it is none. */
int tune_policy_number(const char *name);

#endif
