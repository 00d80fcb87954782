// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuning the machine, and taking that back.
 *
 * What rules change is found out first, then all of it is written down, then it
 * is made and looked at again: whatever ends this program in between, undo finds
 * what to take back. An interrupted apply takes back by itself what it has made.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/options.h"
#include "proc/outlet.h"
#include "proc/polling.h"
#include "tune/apply.h"
#include "tune/hold.h"
#include "tune/tune.h"

#define PASSES_MAX   4
#define LOOK_NS	     NSEC_PER_SEC
#define PROFILE_SIZE 64
#define QUEUE_SIZE   (64 * 1024)
#define QUEUE_MAX    (1024 * 1024) /* of changes that nobody reads while rules are held */
#define TICK_NS	     (100 * NSEC_PER_MSEC)

enum {
	OPTION_JSON = 1,
	OPTION_PROFILE,
	OPTION_JOURNAL,
	OPTION_KEEP,
};

static const struct option options[] = {
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "profile", required_argument, NULL, OPTION_PROFILE },
	{ "journal", required_argument, NULL, OPTION_JOURNAL },
	{ "keep", no_argument, NULL, OPTION_KEEP },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char *profile; /* NULL: none was named */
static const char *journal_folder = TUNE_JOURNAL;
static bool keep;
static bool lines; /* JSON lines; else for a person */
static struct json json;
static struct journal journal;
static struct tune_rules rules;
static struct tune_plan plan;
static unsigned int told;
static struct outlet out; /* of hold, which must not wait for a reader */
static FILE *text_out;	  /* for a person */
static bool may_drop;
static unsigned long dropped;

static void help(void)
{
	fputs("usage: rtscope-agent tune show|apply|undo|status|hold [OPTIONS] [RULE...]\n\n"
	      "show    print what the rules would change; change nothing\n"
	      "apply   write each change into the journal, make it, check it, and check it again after\n"
	      "        a second\n"
	      "undo    restore what the journal lists, for --profile or for all profiles\n"
	      "status  print which changes are in effect\n"
	      "hold    apply the rules, also to threads and interrupts that come later; restore\n"
	      "        everything on Ctrl-C\n\n"
	      "      --profile NAME  name of these changes in the journal [default: rules]\n"
	      "      --journal DIR   folder of the journal [default: " TUNE_JOURNAL "]\n"
	      "      --keep          hold: restore nothing at the end\n"
	      "      --json          write JSON Lines, the agent's protocol\n\n"
	      "A rule is one word of the command line:\n\n"
	      "  'thread name=irq/*-eth? of=kernel policy=fifo priority=90 cpus=0'\n"
	      "  'thread name=control uid=1000 exe=/opt/control/bin/* policy=fifo priority=80'\n"
	      "  'tasks away=2-3'                   all threads that can be moved\n"
	      "  'interrupts away=2-3'\n"
	      "  'interrupt name=eth* cpus=0'\n"
	      "  'file path=/proc/sys/kernel/sched_rt_runtime_us value=-1'\n"
	      "  'partition cpus=2-3'               an isolated cpuset partition\n"
	      "  'irqbalance ban=2-3'\n"
	      "  'boot add=isolcpus=2-3 nohz_full=2-3'  kernel parameters of the next boot\n"
	      "  'latency limit=0'                  C-state exit latency in ns, while held\n\n"
	      "LIST is a list of CPUs such as 0-3,8. In patterns '*' matches any text and '?' any one\n"
	      "character, also a blank.\n\n"
	      "Any user can give a thread any name. So a thread rule matches kernel threads, and\n"
	      "programs that run as root or as the user of this agent. uid=N matches programs of user N\n"
	      "instead; exe=PATTERN also asks for the path of the executable.\n\n"
	      "  rtscope-agent tune apply --profile quiet 'tasks away=3' 'interrupts away=3'\n"
	      "  rtscope-agent tune undo --profile quiet\n",
	      stdout);
}

static int fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent tune: %s\n", text);
	return status;
}

static void warn(const char *code, const char *text)
{
	warning_tell(lines ? &json : NULL, code, text);
}

static void end_text(void)
{
	if (lines || !out.open)
		return;
	fflush(text_out);
	outlet_end_line(&out);
}

static void report(const struct tune_change *change)
{
	told++;
	if (may_drop && outlet_waiting(&out) > QUEUE_MAX) {
		dropped++;
		return;
	}
	if (lines)
		tune_change_send(&json, change);
	else
		tune_change_print(text_out, change);
	end_text();
}

static void report_plan(void)
{
	for (size_t i = 0; i < plan.count; i++) {
		if (plan.change[i].kind != &tune_side_effect)
			report(&plan.change[i]);
	}
}

static bool is_name(const char *text)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return length && !text[length] && length < PROFILE_SIZE;
}

/* Returns 0, 1 after help, or -1 with a sentence in @error; @argv keeps the words in their order. */
static int parse(int argc, char **argv, char *error, size_t error_size)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			help();
			return 1;
		case OPTION_JSON:
			lines = true;
			break;
		case OPTION_PROFILE:
			profile = optarg;
			if (is_name(profile))
				break;
			return option_refuse("--profile", optarg,
					     "a name of letters, digits, '.', '_' and '-'", error,
					     error_size);
		case OPTION_JOURNAL:
			journal_folder = optarg;
			if (*optarg == '/')
				break;
			return option_refuse("--journal", optarg, "a path that begins with /",
					     error, error_size);
		case OPTION_KEEP:
			keep = true;
			break;
		default:
			snprintf(error, error_size,
				 "%s is no option, or lacks its value; see rtscope-agent tune --help",
				 argv[optind - 1]);
			return -1;
		}
	}
	return 0;
}

/* Wait for the reader; a signal gives up what was not read. */
static bool all_written(void)
{
	static const struct timespec at_once;
	sigset_t ending;

	if (!out.open)
		return !fflush(stdout) && !ferror(stdout);
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	while (!outlet_wait(&out, clock_now_ns() + TICK_NS)) {
		if (sigtimedwait(&ending, NULL, &at_once) > 0)
			return false;
	}
	return !outlet_failed(&out);
}

static int end(int status)
{
	static const char *const words[] = { "complete", "failed" };

	journal_close(&journal);
	tune_plan_clear(&plan);
	if (lines)
		polling_end(&json, words[status != 0], 0);
	else if (!told)
		fputs("nothing to do\n", text_out);
	end_text();
	return json.failed || !all_written() ? fail(1, "the output could not be written in full") :
					       status;
}

/* The hello comes first: opening the journal may warn. */
static void begin(void)
{
	polling_begin();
	if (lines)
		hello_write(&json);
}

static int show(void)
{
	char error[512];

	begin();
	/* Without the journal, only what other profiles have changed is left out. */
	if (journal_open(&journal, journal_folder, false, warn, error, sizeof(error)))
		warn("journal-unread", error);
	tune_resolve(&rules, &plan, warn);
	tune_claim(&journal, profile, &plan, 0);
	report_plan();
	return end(0);
}

static void told_already(const char *code, const char *text)
{
	(void)code;
	(void)text;
}

/* Threads that were born meanwhile, by those not yet moved, are caught by another pass. */
static int make_all(char *error, size_t error_size)
{
	for (unsigned int pass = 0; pass < PASSES_MAX && !tune_interrupted(); pass++) {
		size_t first = plan.count;

		tune_resolve(&rules, &plan, pass ? told_already : warn);
		tune_claim(&journal, profile, &plan, first);
		if (plan.count == first)
			return 0;
		if (!pass && tune_may(&plan, error, error_size))
			return -1;
		if (tune_make(&journal, profile, &plan, first, error, error_size))
			return -1;
	}
	return 0;
}

static struct {
	unsigned int restored, left, failed;
} undone;

static void report_undone(const struct tune_change *change)
{
	undone.restored += change->state == TUNE_RESTORED;
	undone.left += change->state == TUNE_LEFT;
	undone.failed += change->state == TUNE_FAILED;
	report(change);
}

/* Undo what was made so far, because of @why, and print what became of it. */
static int abandon(const char *why)
{
	char text[768];
	size_t used = (size_t)snprintf(text, sizeof(text), "%.400s", why);

	tune_undo(&journal, profile, &plan, report_undone);
	end(1);
	if (undone.restored || undone.left || undone.failed)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; changes restored: %u",
					 undone.restored);
	if (undone.left)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 ", left because others changed them since: %u",
					 undone.left);
	if (undone.failed)
		snprintf(text + used, sizeof(text) - used,
			 ", not restored: %u, try again with rtscope-agent tune undo --profile %s",
			 undone.failed, profile);
	return fail(1, text);
}

static int apply(void)
{
	char error[512];
	bool held;

	begin();
	if (journal_open(&journal, journal_folder, true, warn, error, sizeof(error)))
		return fail(1, error);
	if (tune_rules_leave_out(&rules, RULE_LATENCY))
		warn("latency-not-kept",
		     "the kernel keeps a limit of idle states only while a program holds it, so it is left out: use hold");
	if (make_all(error, sizeof(error)))
		return abandon(error);
	if (plan.count)
		tune_wait(LOOK_NS);
	if (tune_interrupted())
		return abandon("interrupted");
	held = tune_look_again(&journal, &plan);
	report_plan();
	return end(!held);
}

static void report_set_back(const struct tune_change *change)
{
	if (change->state == TUNE_SET_BACK)
		report(change);
}

static int open_output(void)
{
	int error = outlet_open(&out, STDOUT_FILENO, QUEUE_SIZE);

	if (error)
		return error;
	json.sink = &out.sink;
	text_out = outlet_stream(&out);
	return text_out ? 0 : ENOMEM;
}

static void report_dropped(void)
{
	char text[160];

	if (!dropped)
		return;
	snprintf(text, sizeof(text),
		 "nothing read the output for a while; changes made and not reported: %lu",
		 dropped);
	warn("output-blocked", text);
}

static int hold(void)
{
	struct holding holding = {
		.rules = &rules,
		.journal = &journal,
		.profile = profile,
		.report = report,
	};
	char error[512];
	bool restored;
	int failed, result;

	failed = open_output();
	if (failed)
		return fail(1, strerror(failed));
	begin();
	if (journal_open(&journal, journal_folder, true, warn, error, sizeof(error)))
		return fail(1, error);
	if (tune_rules_leave_out(&rules, RULE_BOOT))
		warn("boot-not-held",
		     "parameters of the kernel count from a boot on, so they are left out: use apply");
	if (hold_begin(&holding, error, sizeof(error)) || make_all(error, sizeof(error)))
		return abandon(error);
	tune_wait(LOOK_NS);
	tune_look_again(&journal, &plan);
	report_plan();
	outlet_follow(&out);
	may_drop = true;
	failed = hold_on(&holding, error, sizeof(error));
	may_drop = false;
	if (keep && !failed)
		tune_status(&journal, profile, report_set_back);
	restored = (keep && !failed) || tune_undo(&journal, profile, NULL, report);
	report_dropped();
	result = end(failed || !restored);
	return failed ? fail(1, error) : result;
}

/* The names of all that have changed something, as a list in @text; empty for none. */
static void list_profiles(char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < journal.count && used < size; i++) {
		const struct journal_entry *entry = &journal.entry[i];
		bool listed = entry->undone;

		for (size_t before = 0; before < i && !listed; before++)
			listed = !journal.entry[before].undone &&
				 !strcmp(journal.entry[before].change.profile,
					 entry->change.profile);
		if (!listed)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 entry->change.profile);
	}
}

static bool is_applied(const char *name)
{
	for (size_t i = 0; i < journal.count; i++) {
		if (!journal.entry[i].undone && !strcmp(journal.entry[i].change.profile, name))
			return true;
	}
	for (const struct journal_foreign *one = journal.foreign; one; one = one->next) {
		if (!one->undone && !strcmp(one->change.profile, name))
			return true;
	}
	return false;
}

static int undo(void)
{
	char error[512], names[256];

	begin();
	if (journal_open(&journal, journal_folder, true, warn, error, sizeof(error)))
		return fail(1, error);
	if (profile && !is_applied(profile)) {
		list_profiles(names, sizeof(names));
		snprintf(error, sizeof(error), "the profile %s is not applied here, %s%s", profile,
			 *names ? "but these are: " : "and none is", names);
		end(1);
		return fail(1, error);
	}
	return end(!tune_undo(&journal, profile, NULL, report));
}

static bool has_stale(void)
{
	for (size_t i = 0; i < journal.count; i++) {
		if (journal.entry[i].stale && !journal.entry[i].undone)
			return true;
	}
	return false;
}

/* Only to tidy up after an earlier boot the journal is changed. */
static int status(void)
{
	char error[512];

	begin();
	if (journal_open(&journal, journal_folder, false, warn, error, sizeof(error)))
		return fail(1, error);
	if (has_stale()) {
		journal_close(&journal);
		if (journal_open(&journal, journal_folder, true, warn, error, sizeof(error)) &&
		    journal_open(&journal, journal_folder, false, warn, error, sizeof(error)))
			return fail(1, error);
	}
	tune_status(&journal, profile, report);
	return end(0);
}

static const struct {
	const char *name;
	int (*act)(void);
	bool takes_rules;
} actions[] = {
	{ "show", show, true },	     { "apply", apply, true }, { "undo", undo, false },
	{ "status", status, false }, { "hold", hold, true },
};

#define ACTION_COUNT (sizeof(actions) / sizeof(actions[0]))

/* @words: rules. */
static int run(const char *action, char **words, unsigned int count)
{
	char error[512];

	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (strcmp(action, actions[i].name) != 0)
			continue;
		if (actions[i].takes_rules != !!count)
			return fail(2, count ? "undo and status take no rules, but --profile NAME" :
					       "there is no rule; see rtscope-agent tune --help");
		if (count && tune_rules_parse(words, count, &rules, error, sizeof(error)))
			return fail(2, error);
		if (count && !profile)
			profile = "rules";
		rules.profile = profile;
		return actions[i].act();
	}
	return fail(2,
		    "say show, apply, undo, status or hold first; see rtscope-agent tune --help");
}

int tune_main(int argc, char **argv)
{
	char error[512];
	int parsed = parse(argc, argv, error, sizeof(error)), result;

	json.fd = STDOUT_FILENO;
	text_out = stdout;
	if (parsed)
		return parsed > 0 ? 0 : fail(2, error);
	if (optind == argc)
		return run("", NULL, 0);
	result = run(argv[optind], argv + optind + 1, (unsigned int)(argc - optind - 1));
	tune_rules_free(&rules);
	return result;
}
