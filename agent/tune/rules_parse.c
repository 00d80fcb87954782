// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing the rules of a profile, one word of the command line each:
 *
 *	thread name=irq?24-* of=kernel policy=fifo priority=90 cpus=0
 *	tasks away=2-3
 *	file path=/proc/sys/kernel/sched_rt_runtime_us value=-1
 *
 * Everything is refused here that can be refused before threads and interrupts
 * are read, so that nothing has been changed by then. CPU 0 stays usable
 * whatever a rule says, because the rest of the system runs there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "base/options.h"
#include "proc/cpus.h"
#include "proc/policies.h"
#include "tune/rules.h"

#define LATENCY_MAX_NS (2 * NSEC_PER_SEC)

enum key {
	KEY_NAME = 1 << 0,
	KEY_OF = 1 << 1,
	KEY_POLICY = 1 << 2,
	KEY_PRIORITY = 1 << 3,
	KEY_NICE = 1 << 4,
	KEY_CPUS = 1 << 5,
	KEY_AWAY = 1 << 6,
	KEY_PATH = 1 << 7,
	KEY_VALUE = 1 << 8,
	KEY_BAN = 1 << 9,
	KEY_ADD = 1 << 10,
	KEY_LIMIT = 1 << 11,
	KEY_UID = 1 << 12,
	KEY_EXE = 1 << 13,
};

static const char *const keys[] = { "name", "of",    "policy", "priority", "nice",  "cpus", "away",
				    "path", "value", "ban",    "add",	   "limit", "uid",  "exe" };

static const struct {
	const char *name;
	unsigned int needed, allowed;
	const char *form;
} kinds[] = {
	[RULE_THREAD] = { "thread", KEY_NAME,
			  KEY_NAME | KEY_OF | KEY_UID | KEY_EXE | KEY_POLICY | KEY_PRIORITY |
				  KEY_NICE | KEY_CPUS,
			  "thread name=PATTERN [of=kernel|program] [uid=N] [exe=PATTERN] [policy=other|batch|idle|fifo|rr] [priority=N] [nice=N] [cpus=LIST]" },
	[RULE_TASKS] = { "tasks", KEY_AWAY, KEY_AWAY, "tasks away=LIST" },
	[RULE_INTERRUPTS] = { "interrupts", KEY_AWAY, KEY_AWAY, "interrupts away=LIST" },
	[RULE_INTERRUPT] = { "interrupt", KEY_NAME | KEY_CPUS, KEY_NAME | KEY_CPUS,
			     "interrupt name=PATTERN cpus=LIST" },
	[RULE_FILE] = { "file", KEY_PATH | KEY_VALUE, KEY_PATH | KEY_VALUE,
			"file path=PATTERN value=TEXT" },
	[RULE_PARTITION] = { "partition", KEY_CPUS, KEY_CPUS, "partition cpus=LIST" },
	[RULE_IRQBALANCE] = { "irqbalance", KEY_BAN, KEY_BAN, "irqbalance ban=LIST" },
	[RULE_BOOT] = { "boot", KEY_ADD, KEY_ADD, "boot add=PARAMETERS" },
	[RULE_LATENCY] = { "latency", KEY_LIMIT, KEY_LIMIT, "latency limit=NANOSECONDS" },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
#define KEY_COUNT  (sizeof(keys) / sizeof(keys[0]))

struct parser {
	struct tune_rule *rule;
	const cpu_set_t *online;
	char *error;
	size_t error_size;
};

static int refuse(const struct parser *parser, const char *key, const char *text,
		  const char *wanted)
{
	snprintf(parser->error, parser->error_size, "in the rule '%s', %s=%s is not %s",
		 parser->rule->text, key, text, wanted);
	return -1;
}

static int take_number(const struct parser *parser, const char *key, const char *text, int least,
		       int most, int *number)
{
	char wanted[64], *end;
	long value = strtol(text, &end, 10);

	snprintf(wanted, sizeof(wanted), "a number from %d to %d", least, most);
	if (!*text || *end || value < least || value > most)
		return refuse(parser, key, text, wanted);
	*number = (int)value;
	return 0;
}

static int check_online(const struct parser *parser, const cpu_set_t *cpus)
{
	cpu_set_t absent = *cpus;
	char text[CPULIST_SIZE], there[CPULIST_SIZE];

	cpulist_less(&absent, parser->online);
	if (!CPU_COUNT(&absent))
		return 0;
	cpulist_format(&absent, text, sizeof(text));
	cpulist_format(parser->online, there, sizeof(there));
	snprintf(parser->error, parser->error_size,
		 "the rule '%.100s' names CPU %.100s, which this machine does not have or which is offline; online are %.200s",
		 parser->rule->text, text, there);
	return -1;
}

/* CPU 0 and at least one that is online have to be left. */
static int check_rest(const struct parser *parser, const cpu_set_t *taken)
{
	cpu_set_t left = *parser->online;

	cpulist_less(&left, taken);
	if (!CPU_ISSET(0, taken) && CPU_COUNT(&left))
		return 0;
	snprintf(parser->error, parser->error_size,
		 CPU_ISSET(0, taken) ?
			 "the rule '%.200s' takes CPU 0 from the rest of the machine, which always keeps it; choose from the other CPUs" :
			 "the rule '%.200s' leaves no CPU that is online for the rest of the machine; choose fewer",
		 parser->rule->text);
	return -1;
}

static int take_cpus(const struct parser *parser, enum key key, const char *name, const char *text)
{
	struct tune_rule *rule = parser->rule;

	if (!cpulist_parse(text, &rule->cpus) || !CPU_COUNT(&rule->cpus))
		return refuse(parser, name, text,
			      "a list of CPUs such as 2-3,8 with numbers below 1024");
	rule->has_cpus = true;
	if (check_online(parser, &rule->cpus))
		return -1;
	if (key != KEY_CPUS || rule->kind == RULE_PARTITION)
		return check_rest(parser, &rule->cpus);
	return 0;
}

static int take_path(const struct parser *parser, const char *text)
{
	if ((strncmp(text, "/proc/sys/", 10) != 0 && strncmp(text, "/sys/", 5) != 0) ||
	    strstr(text, "/../"))
		return refuse(parser, "path", text, "below /proc/sys/ or /sys/");
	parser->rule->name = text;
	return 0;
}

/* Parameters that take CPUs from the rest, CPU 0 among them; flags may stand before the list. */
static int check_parameter(const struct parser *parser, const char *word, size_t length)
{
	static const char *const taking[] = { "isolcpus=", "nohz_full=" };
	char list[CPULIST_SIZE], *cpus = list;
	cpu_set_t taken;

	for (size_t i = 0; i < sizeof(taking) / sizeof(taking[0]); i++) {
		size_t name = strlen(taking[i]);

		if (strncmp(word, taking[i], name) != 0)
			continue;
		snprintf(list, sizeof(list), "%.*s", (int)(length - name), word + name);
		while (*cpus >= 'a' && *cpus <= 'z' && strchr(cpus, ','))
			cpus = strchr(cpus, ',') + 1;
		if (!cpulist_parse(cpus, &taken) || !CPU_COUNT(&taken))
			return refuse(parser, "add", word,
				      "written with a list of CPUs such as 2-3,8");
		return check_online(parser, &taken) || check_rest(parser, &taken) ? -1 : 0;
	}
	return 0;
}

static int take_parameters(const struct parser *parser, const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at < ' ' || *at > '~' || strchr("\"'\\$`#;|&<>", *at))
			return refuse(parser, "add", text,
				      "kernel parameters: letters, digits and punctuation with no meaning to a shell");
	}
	for (const char *word = text; *word; word += strspn(word, " ")) {
		size_t length = strcspn(word, " ");

		if (check_parameter(parser, word, length))
			return -1;
		word += length;
	}
	parser->rule->value = text;
	return 0;
}

static int take_uid(const struct parser *parser, const char *text)
{
	uint64_t uid;

	if (!option_number(text, UINT32_MAX - 1, &uid))
		return refuse(parser, "uid", text, "the number of a user");
	parser->rule->has_uid = true;
	parser->rule->uid = (uint32_t)uid;
	return 0;
}

static int take(const struct parser *parser, enum key key, const char *name, const char *text)
{
	struct tune_rule *rule = parser->rule;

	switch (key) {
	case KEY_NAME:
		rule->name = text;
		return 0;
	case KEY_OF:
		if (strcmp(text, "kernel") != 0 && strcmp(text, "program") != 0)
			return refuse(parser, name, text, "kernel or program");
		rule->owner = *text == 'k' ? OWNER_KERNEL : OWNER_PROGRAM;
		return 0;
	case KEY_UID:
		return take_uid(parser, text);
	case KEY_EXE:
		rule->executable = text;
		return *text == '/' ? 0 : refuse(parser, name, text, "a path that begins with /");
	case KEY_POLICY:
		rule->policy = policy_number_of(text);
		return rule->policy < 0 || rule->policy >= SCHED_DEADLINE ?
			       refuse(parser, name, text, "other, batch, idle, fifo or rr") :
			       0;
	case KEY_PRIORITY:
		return take_number(parser, name, text, 1, 99, &rule->priority);
	case KEY_NICE:
		rule->has_nice = true;
		return take_number(parser, name, text, -20, 19, &rule->nice);
	case KEY_CPUS:
	case KEY_AWAY:
	case KEY_BAN:
		return take_cpus(parser, key, name, text);
	case KEY_PATH:
		return take_path(parser, text);
	case KEY_VALUE:
		rule->value = text;
		return 0;
	case KEY_ADD:
		return take_parameters(parser, text);
	case KEY_LIMIT:
		return option_number(text, LATENCY_MAX_NS, &rule->limit_ns) ?
			       0 :
			       refuse(parser, name, text, "a number of nanoseconds up to 2 s");
	}
	return -1;
}

static int read_key(const struct parser *parser, const char *word, enum key *key)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (word[length] && strlen(keys[i]) == length && !strncmp(word, keys[i], length) &&
		    kinds[parser->rule->kind].allowed & 1u << i) {
			*key = 1u << i;
			return (int)i;
		}
	}
	snprintf(parser->error, parser->error_size,
		 "the rule '%.200s' has no key '%.*s'; it is written %s", parser->rule->text,
		 (int)length, word, kinds[parser->rule->kind].form);
	return -1;
}

static int check_whole(const struct parser *parser, unsigned int seen)
{
	const struct tune_rule *rule = parser->rule;
	bool ranked = rule->policy == SCHED_FIFO || rule->policy == SCHED_RR;
	const char *lack = NULL;

	if (kinds[rule->kind].needed & ~seen)
		lack = "lacks a key";
	else if (rule->kind == RULE_THREAD && !(seen & (KEY_POLICY | KEY_NICE | KEY_CPUS)))
		lack = "changes nothing";
	else if (ranked && !(seen & KEY_PRIORITY))
		lack = "gives no priority from 1 to 99";
	else if (!ranked && seen & KEY_PRIORITY)
		lack = "gives a priority, but not to fifo or rr";
	else if (rule->owner == OWNER_KERNEL && seen & (KEY_UID | KEY_EXE))
		lack = "asks for a user or an executable, which the kernel's own threads do not have";
	if (!lack)
		return 0;
	snprintf(parser->error, parser->error_size, "the rule '%.200s' %s; it is written %s",
		 rule->text, lack, kinds[rule->kind].form);
	return -1;
}

/* @rest, which is cut to pieces, is what follows the kind. */
static int read_keys(const struct parser *parser, char *rest)
{
	unsigned int seen = 0;

	while (*(rest += strspn(rest, " "))) {
		char *word = rest, *text;
		enum key key;
		int index = read_key(parser, word, &key);

		if (index < 0)
			return -1;
		text = word + strlen(keys[index]) + 1;
		rest = text;
		if (key & (KEY_VALUE | KEY_ADD))
			rest += strlen(rest);
		else
			rest += strcspn(rest, " ");
		if (*rest)
			*rest++ = '\0';
		if (seen & key || !*text)
			return refuse(parser, keys[index], text,
				      seen & key ? "given once" : "given a value");
		seen |= key;
		if (take(parser, key, keys[index], text))
			return -1;
	}
	return check_whole(parser, seen);
}

static int read_rule(const struct parser *parser)
{
	struct tune_rule *rule = parser->rule;
	size_t length = strcspn(rule->text, " ");

	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		if (strlen(kinds[kind].name) != length ||
		    strncmp(rule->text, kinds[kind].name, length) != 0)
			continue;
		rule->kind = (enum tune_rule_kind)kind;
		rule->cut = strdup(rule->text + length);
		if (rule->cut)
			return read_keys(parser, rule->cut);
		snprintf(parser->error, parser->error_size, "out of memory");
		return -1;
	}
	snprintf(parser->error, parser->error_size,
		 "'%.200s' is no rule; one begins with thread, tasks, interrupts, interrupt, file, partition, irqbalance, boot or latency",
		 rule->text);
	return -1;
}

int tune_rules_parse(char **words, unsigned int count, struct tune_rules *rules, char *error,
		     size_t error_size)
{
	cpu_set_t online;
	struct parser parser = { .online = &online, .error = error, .error_size = error_size };

	cpus_online(&online);
	rules->count = 0;
	rules->rule = calloc(count ? count : 1, sizeof(*rules->rule));
	if (!rules->rule) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	for (; rules->count < count; rules->count++) {
		parser.rule = &rules->rule[rules->count];
		parser.rule->text = words[rules->count];
		parser.rule->policy = -1;
		if (!read_rule(&parser))
			continue;
		free(parser.rule->cut);
		tune_rules_free(rules);
		return -1;
	}
	return 0;
}
