// SPDX-License-Identifier: GPL-2.0-only
/* CPU lists and masks, patterns, and which rule of a thread or an interrupt wins. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "base/pattern.h"
#include "proc/cpus.h"
#include "tune/files.h"
#include "tune/rules.h"
#include "unit.h"

static cpu_set_t cpus_of(const char *list)
{
	cpu_set_t cpus;

	assert_true(cpulist_parse(list, &cpus));
	return cpus;
}

static void assert_cpus(const cpu_set_t *cpus, const char *wanted)
{
	char text[CPULIST_SIZE];

	cpulist_format(cpus, text, sizeof(text));
	assert_string_equal(text, wanted);
}

TEST(lists_and_masks_come_back_as_they_were_and_others_are_refused)
{
	static const char *const lists[] = { "", "0", "0-3,8", "31-32,64,1022-1023" };
	static const char *const masks[] = { "0", "1", "10f", "c0000000,00000001",
					     "1,00000001,80000000" };
	static const char *const bad[] = { "x",	  "1-",	  "-1",	    "2-1", "1,",   ",1",   "1;2",
					   "1 2", "1024", "0-1024", "all", "0x10", "0-1-2" };
	char text[CPULIST_SIZE];
	cpu_set_t cpus, read;

	foreach (list, lists) {
		cpus = cpus_of(*list);
		assert_cpus(&cpus, *list);
		cpulist_format_mask(&cpus, text, sizeof(text));
		assert_true(cpulist_parse_mask(text, &cpus));
		assert_cpus(&cpus, *list);
	}
	foreach (mask, masks) {
		assert_true(cpulist_parse_mask(*mask, &cpus));
		cpulist_format_mask(&cpus, text, sizeof(text));
		assert_string_equal(text, *mask);
	}
	foreach (list, bad)
		assert_false(cpulist_parse(*list, &cpus));
	assert_false(cpulist_parse_mask("", &cpus));
	assert_false(cpulist_parse_mask("g", &cpus));
	assert_true(cpulist_parse("0-3\n", &cpus)); /* as a file has it */
	CPU_ZERO(&cpus);
	for (int cpu = 0; cpu < 1024; cpu += 2) /* the longest text */
		CPU_SET(cpu, &cpus);
	cpulist_format(&cpus, text, sizeof(text));
	read = cpus_of(text);
	assert_true(CPU_EQUAL(&cpus, &read));
}

TEST(values_of_files_are_compared_as_the_kernel_prints_them)
{
	static const char *const same[][2] = {
		{ "10", "010" },      { "8", "08" },
		{ "16", "0x10" },     { "ff", "000000ff" },
		{ "Y", "1" },	      { "1", "00000000,00000001" },
		{ "0-3", "0,1,2,3" }, { "c0000000,00000001", "0c0000000,00000001" },
		{ "-1", "-01" },      { "18446744073709551615", "18446744073709551615" },
	};
	static const char *const unlike[][2] = {
		{ "010", "8" },	 { "10", "8" },
		{ "0,2", "2" },	 { "0,2", "02" },
		{ "0,1", "01" }, { "Y", "0" },
		{ "", "0" },	 { "0x10", "10" },
		{ "1", "-1" },	 { "0-3", "3" },
		{ "ff", "255" }, { "18446744073709551615", "18446744073709551614" },
	};

	foreach (each, same)
		assert_true(tune_same(&tune_file, (*each)[0], (*each)[1]));
	foreach (each, unlike)
		assert_false(tune_same(&tune_file, (*each)[0], (*each)[1]));
}

static bool fits(const char *name, const char *pattern)
{
	return pattern_fits(name, pattern, strlen(pattern));
}

TEST(patterns_fit_whole_names)
{
	assert_true(fits("irq/24-eth0", "irq/*-eth?"));
	assert_true(fits("a b", "a?b"));
	assert_true(fits("", "*"));
	assert_true(fits("aXbXc", "*X*c"));
	assert_true(fits("ababac", "*abac"));
	assert_true(fits("*[x]", "*[x]"));
	assert_false(fits("irq/24-eth10", "irq/*-eth?"));
	assert_false(fits("ab", "a"));
	assert_false(fits("a", "ab"));
	assert_false(fits("", "?"));
	assert_true(pattern_fits("cpu1", "cpu*/online", 4));
}

/* By hand, for what can be parsed depends on the CPUs that are online. */
static struct tune_rule thread_rule(const char *name, int policy, const char *cpus)
{
	struct tune_rule rule = { .kind = RULE_THREAD, .name = name, .policy = policy };

	rule.priority = policy < 0 ? 0 : 10;
	rule.has_cpus = cpus;
	if (cpus)
		rule.cpus = cpus_of(cpus);
	return rule;
}

static const struct thread_identity root;

static struct tune_wish matched(const struct tune_rules *rules, const char *name, bool kernel)
{
	cpu_set_t now = cpus_of("0-3");
	struct tune_wish wish;

	tune_rules_match_thread(rules, name, kernel, kernel ? NULL : &root, &now, &wish);
	return wish;
}

static struct tune_rule away(enum tune_rule_kind kind, const char *cpus)
{
	return (struct tune_rule){ .kind = kind, .policy = -1, .cpus = cpus_of(cpus) };
}

TEST(the_last_rule_that_says_something_of_a_thread_wins)
{
	struct tune_rule rule[] = { thread_rule("ctrl*", SCHED_FIFO, NULL), away(RULE_TASKS, "1-2"),
				    thread_rule("ctrl-a", -1, "2"),
				    thread_rule("*", SCHED_RR, NULL), away(RULE_TASKS, "3") };
	struct tune_rules rules = { .rule = rule, .count = 4 };
	struct tune_wish wish = matched(&rules, "ctrl-a", false);

	assert_int_equal(wish.policy, SCHED_RR);
	assert_true(wish.has_cpus && wish.explicit_cpus);
	assert_cpus(&wish.cpus, "2");
	wish = matched(&rules, "other", false);
	assert_false(wish.explicit_cpus);
	assert_cpus(&wish.cpus, "0,3");
	rules.count = 5; /* a later rule adds none that an earlier one took away */
	wish = matched(&rules, "other", false);
	assert_cpus(&wish.cpus, "0");
}

TEST(a_rule_wants_threads_of_its_owner_alone)
{
	struct tune_rule rule = thread_rule("x", SCHED_FIFO, NULL);
	struct tune_rules rules = { .rule = &rule, .count = 1 };

	for (int kernel = 0; kernel < 2; kernel++) {
		rule.owner = kernel ? OWNER_KERNEL : OWNER_PROGRAM;
		rule.matched = false;
		assert_int_equal(matched(&rules, "x", !kernel).policy, -1);
		assert_false(rule.matched);
		assert_int_equal(matched(&rules, "x", kernel).policy, SCHED_FIFO);
	}
}

TEST(a_rule_wants_threads_of_its_user_and_executable_alone)
{
	const uint32_t me = geteuid(), other = me + 4711;
	const struct thread_identity other_user = { { other, other, other, other }, "/bin/x" },
				     own = { { me, me, me, me }, "/bin/x" };
	struct tune_rule rule = thread_rule("x*", SCHED_FIFO, NULL);
	struct thread_identity mixed = own;

	assert_true(tune_rule_wants_thread(&rule, "x", NULL));
	assert_true(tune_rule_wants_thread(&rule, "x", &own));
	assert_true(tune_rule_wants_thread(&rule, "x", &root));
	assert_false(tune_rule_wants_thread(&rule, "y", &own));
	assert_false(tune_rule_wants_thread(&rule, "x", &other_user));
	for (int i = 0; i < THREAD_IDS; i++) {
		mixed = own;
		mixed.uid[i] = other;
		assert_false(tune_rule_wants_thread(&rule, "x", &mixed));
	}

	rule.has_uid = true;
	rule.uid = other;
	assert_true(tune_rule_wants_thread(&rule, "x", &other_user));
	assert_false(tune_rule_wants_thread(&rule, "x", &own));
	assert_false(tune_rule_wants_thread(&rule, "x", NULL));
	rule.executable = "/bin/?";
	assert_true(tune_rule_wants_thread(&rule, "x", &other_user));
	rule.executable = "/sbin/*";
	assert_false(tune_rule_wants_thread(&rule, "x", &other_user));
}

TEST(an_interrupt_goes_by_the_last_rule_of_any_of_its_names)
{
	static const char *const names[] = { "eth0", "uart", NULL };
	static const char *const wanted[] = { "0-3", "0-1", "3" };
	struct tune_rule rule[] = {
		away(RULE_INTERRUPTS, "2-3"),
		{ .kind = RULE_INTERRUPT, .name = "uart", .cpus = cpus_of("3") }
	};

	for (unsigned int count = 0; count < 3; count++) {
		struct tune_rules rules = { .rule = rule, .count = count };
		cpu_set_t cpus = cpus_of("0-3");

		assert_int_equal(!!tune_rules_match_interrupt(&rules, names, &cpus), count > 0);
		assert_cpus(&cpus, wanted[count]);
	}
}

TEST(who_has_nowhere_left_goes_to_what_is_online)
{
	cpu_set_t cpus = cpus_of("900"), gone = cpus_of("900"), online;

	cpus_online(&online);
	cpus_leave(&cpus, &gone);
	assert_true(CPU_EQUAL(&cpus, &online));
}

TEST(the_words_of_a_rule_come_in_any_order)
{
	char *words[] = { "thread priority=7 policy=fifo name=a?b=c nice=-3",
			  "file value=a b=c path", "boot add=quiet threadirqs" };
	struct tune_rules rules;
	char error[512];

	assert_int_equal(tune_rules_parse(words, 1, &rules, error, sizeof(error)), 0);
	assert_printed("a?b=c 1 7 -3", "%s %d %d %d", rules.rule[0].name, rules.rule[0].policy,
		       rules.rule[0].priority, rules.rule[0].nice);
	tune_rules_free(&rules);
	assert_int_equal(tune_rules_parse(words + 1, 1, &rules, error, sizeof(error)), -1);
	assert_int_equal(tune_rules_parse(words + 2, 1, &rules, error, sizeof(error)), 0);
	assert_string_equal(rules.rule[0].value, "quiet threadirqs");
	tune_rules_free(&rules);
}

UNIT_TESTS(NULL, NULL)
