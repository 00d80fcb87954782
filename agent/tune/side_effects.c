// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings that the kernel changes when another one is written.
 *
 * Undo writes the other one again, which changes them once more. So their values are in the journal
 * before the write, ahead of it, and are restored after it. Until the write is made and read back,
 * and while it is undone, whatever they hold counts as the kernel's doing (ANY); in between another
 * value is somebody else's, and undo restores that one.
 */
#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "tune/files.h"
#include "tune/side_effects.h"

#define ANY "any"

/* Patterns of paths; an effect that begins with no '/' is in the folder of its cause. */
static const struct {
	const char *cause, *effect;
} table[] = {
	/* mm/khugepaged.c: set_recommended_min_free_kbytes() */
	{ "*/mm/transparent_hugepage/*enabled", "/proc/sys/vm/min_free_kbytes" },
	/* mm/page-writeback.c, mm/util.c: one of each two is 0 */
	{ "/proc/sys/vm/dirty_ratio", "dirty_bytes" },
	{ "/proc/sys/vm/dirty_bytes", "dirty_ratio" },
	{ "/proc/sys/vm/dirty_background_ratio", "dirty_background_bytes" },
	{ "/proc/sys/vm/dirty_background_bytes", "dirty_background_ratio" },
	{ "/proc/sys/vm/overcommit_ratio", "overcommit_kbytes" },
	{ "/proc/sys/vm/overcommit_kbytes", "overcommit_ratio" },
	/* mm/hugetlb.c: pages are spread anew over the nodes */
	{ "/proc/sys/vm/nr_hugepages", "/sys/devices/system/node/node*/hugepages/*/nr_hugepages" },
	{ "*/mm/hugepages/*/nr_hugepages",
	  "/sys/devices/system/node/node*/hugepages/*/nr_hugepages" },
	/* kernel/watchdog.c: until 6.3 reading nmi_watchdog while it is off turns it off for good */
	{ "/proc/sys/kernel/watchdog", "nmi_watchdog" },
	{ "/proc/sys/kernel/watchdog", "soft_watchdog" },
	/* drivers/cpufreq: a governor that is left loses its settings, and drivers couple EPP to it */
	{ "*/cpufreq/policy*/scaling_governor", "scaling_*_freq" },
	{ "*/cpufreq/policy*/scaling_governor", "scaling_setspeed" },
	{ "*/cpufreq/policy*/scaling_governor", "energy_performance_preference" },
	{ "*/cpufreq/policy*/scaling_governor", "schedutil/*" },
	{ "*/cpufreq/policy*/scaling_governor", "ondemand/*" },
	{ "*/cpufreq/policy*/scaling_governor", "conservative/*" },
	{ "*/cpufreq/policy*/scaling_governor", "../schedutil/*" },
	{ "*/cpufreq/policy*/scaling_governor", "../ondemand/*" },
	{ "*/cpufreq/policy*/scaling_governor", "../conservative/*" },
	{ "*/cpu/cpufreq/boost", "policy*/scaling_max_freq" },
	{ "*/cpu/intel_pstate/no_turbo", "*_perf_pct" },
	{ "*/cpu/intel_pstate/no_turbo", "../cpufreq/policy*/scaling_max_freq" },
	{ "*/cpu/*_pstate/status", "../cpufreq/policy*/scaling_governor" },
	{ "*/cpu/*_pstate/status", "../cpufreq/policy*/scaling_m*_freq" },
	{ "*/cpu/*_pstate/status", "../cpufreq/policy*/energy_performance_preference" },
	/* kernel/cpu.c: on brings back all siblings, also one that was unplugged by hand */
	{ "*/cpu/smt/control", "../cpu*/online" },
	/* block/elevator.c, blk-mq-sched.c */
	{ "*/queue/scheduler", "nr_requests" },
	{ "*/queue/scheduler", "wbt_lat_usec" },
	{ "*/queue/scheduler", "iosched/*" },
	/* mm/ksm.c: set_advisor_defaults() */
	{ "*/mm/ksm/advisor_mode", "pages_to_scan" },
	/* net/ipv4/devinet.c: inet_forward_change() */
	{ "/proc/sys/net/ipv4/ip_forward", "conf/*/forwarding" },
	{ "/proc/sys/net/ipv4/ip_forward", "conf/all/accept_redirects" },
	{ "/proc/sys/net/ipv4/conf/all/forwarding", "../*/forwarding" },
	{ "/proc/sys/net/ipv4/conf/all/forwarding", "accept_redirects" },
};

static bool same(const char *one, const char *other)
{
	return !strcmp(one, ANY) || !strcmp(other, ANY) || tune_file.same(one, other);
}

static bool given_up(const char *value)
{
	return !strcmp(value, ANY);
}

static int read_effect(const char *key, char *value, size_t size)
{
	return tune_file.read(key, value, size);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	tune_file.describe(key, what, where, size);
}

static const char *lacking(const char *key, const char *value)
{
	return tune_file.lacking(key, value);
}

const struct tune_kind tune_side_effect = {
	.name = "side-effect",
	.read = read_effect,
	.write = file_write,
	.same = same,
	.describe = describe,
	.lacking = lacking,
	.given_up = given_up,
};

static void want(const char *path, void *context)
{
	char value[TUNE_VALUE_SIZE];
	struct tune_change *change = NULL;

	if (file_can_be_written(path) && !tune_file.read(path, value, sizeof(value)))
		change = tune_plan_want(context, &tune_side_effect, path, value, ANY);
	if (change)
		change->state = TUNE_PLANNED;
}

static void plan_of(const char *cause, struct tune_plan *plan)
{
	size_t folder = (size_t)(strrchr(cause, '/') - cause) + 1;
	char pattern[512];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *effect = table[i].effect;

		if (!pattern_fits(cause, table[i].cause, strlen(table[i].cause)))
			continue;
		snprintf(pattern, sizeof(pattern), "%.*s%s", *effect == '/' ? 0 : (int)folder,
			 cause, effect);
		files_found(pattern, want, plan);
	}
}

void tune_side_effects_plan(struct tune_plan *plan, size_t first)
{
	for (size_t i = first, count = plan->count; i < count; i++) {
		if (plan->change[i].kind == &tune_file && plan->change[i].state == TUNE_PLANNED)
			plan_of(plan->change[i].key, plan);
	}
}

void tune_side_effects_note(struct journal *journal, const struct tune_plan *plan, size_t first)
{
	char value[TUNE_VALUE_SIZE];

	for (size_t i = first; i < plan->count; i++) {
		const struct tune_change *change = &plan->change[i];
		struct journal_entry *entry = change->number && change->kind == &tune_side_effect ?
						      journal_find(journal, change->number) :
						      NULL;

		if (entry && !read_effect(change->key, value, sizeof(value)))
			journal_set_new(journal, entry, value);
	}
}

void tune_side_effects_prepare(struct journal *journal, const char *profile,
			       const struct tune_plan *only)
{
	char value[TUNE_VALUE_SIZE];

	for (size_t i = 0; i < journal->count; i++) {
		struct journal_entry *entry = &journal->entry[i];
		const struct tune_change *change = &entry->change;

		if (change->kind != &tune_side_effect || entry->undone || entry->stale ||
		    (profile && strcmp(change->profile, profile) != 0) ||
		    (only && !tune_plan_has(only, change->number)) ||
		    read_effect(change->key, value, sizeof(value)))
			continue;
		if (!same(value, change->new_value))
			journal_set_old(journal, entry, value);
		journal_set_new(journal, entry, ANY);
	}
}
