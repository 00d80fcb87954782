/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules of a profile: which settings of a system have to change, and how. One word each. */
#ifndef RTSCOPE_TUNE_RULES_H
#define RTSCOPE_TUNE_RULES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/thread_identity.h"

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
	bool has_uid;
	uint32_t uid;
	const char *executable;	  /* a pattern; NULL: any */
	unsigned int passed_over; /* threads of its name, but of another user or program */
	int policy;		  /* the kernel's number; -1: as it is */
	int priority;		  /* of fifo and rr */
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
 * Parse @words, each a rule, and check them against this system: their CPUs are online, and CPU 0
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
	const struct tune_rule *policy_by, *nice_by, *cpus_by;
};

/* Whether a rule names a thread of this name, of any user. A blank of the name matches '?'. */
bool tune_rules_name_thread(const struct tune_rules *rules, const char *name, bool kernel);

/*
 * Whether @rule names the thread and trusts its user and program: those that the rule asks for, and
 * without uid= root or the agent's own user. All ids count, so that a program which runs with
 * somebody else's rights is not trusted. The kernel's own threads have no @identity.
 */
bool tune_rule_wants_thread(const struct tune_rule *rule, const char *name,
			    const struct thread_identity *identity);

/*
 * Wishes for the thread @name, which may run on @cpus now. @identity: NULL for a thread of the
 * kernel's own, and where tune_rules_name_thread() says that no rule names it.
 */
void tune_rules_match_thread(const struct tune_rules *rules, const char *name, bool kernel,
			     const struct thread_identity *identity, const cpu_set_t *cpus,
			     struct tune_wish *wish);

/*
 * Of an interrupt that @names (ends with NULL) act on: the rule that decides where it goes, or NULL;
 * @cpus are those it may go to now, and then those that it is to go to.
 */
const struct tune_rule *tune_rules_match_interrupt(const struct tune_rules *rules,
						   const char *const *names, cpu_set_t *cpus);

#endif
