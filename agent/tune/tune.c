// SPDX-License-Identifier: GPL-2.0-only
/* The options of the verb tune, and the table of its actions. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "tune/actions.h"
#include "tune/journal.h"
#include "tune/tune.h"

#define PROFILE_SIZE 64

static struct tune_request request;
static bool wants_help;

static bool parse_name(const char *text, void *value)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	*(const char **)value = text;
	return length && !text[length] && length < PROFILE_SIZE;
}

static bool parse_path(const char *text, void *value)
{
	*(const char **)value = text;
	return *text == '/';
}

const struct option_spec tune_options[] = {
	{ .name = "profile",
	  .kind = OPTION_PARSED,
	  .metavar = "NAME",
	  .computed = "rules",
	  .wanted = "a name of letters, digits, '.', '_' and '-'",
	  .help = "Name of these changes in the journal",
	  .parse = parse_name,
	  .value = &request.profile },
	{ .name = "journal",
	  .kind = OPTION_PARSED,
	  .metavar = "DIR",
	  .preset = TUNE_JOURNAL,
	  .wanted = "a path that begins with /",
	  .help = "Folder of the journal",
	  .parse = parse_path,
	  .value = &request.journal },
	{ .name = "keep",
	  .kind = OPTION_FLAG,
	  .help = "hold: restore nothing at the end",
	  .value = &request.keep },
	{ .name = "poll",
	  .kind = OPTION_TIME,
	  .zero = true,
	  .min = 10 * NSEC_PER_MSEC,
	  .max = 86400 * NSEC_PER_SEC,
	  .bare_ns = NSEC_PER_SEC,
	  .preset = "10s",
	  .help = "hold: time between two checks for settings that others changed, which are set again; 0: never",
	  .value = &request.poll_ns },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol",
	  .value = &request.json },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &wants_help },
	{ 0 },
};

static void help(void)
{
	fputs("usage: rtscope-agent tune show|apply|undo|status|hold [OPTIONS] [RULE...]\n\n"
	      "show    print what the rules would change; change nothing\n"
	      "apply   write each change into the journal, make it, check it, and check it again after\n"
	      "        a second\n"
	      "undo    restore what the journal lists, for --profile or for all profiles\n"
	      "status  print which changes are in effect\n"
	      "hold    apply the rules, also to threads and interrupts that come later; restore\n"
	      "        everything on Ctrl-C\n\n",
	      stdout);
	options_help(tune_options, NULL, stdout);
	fputs("\nA rule is one word of the command line:\n\n"
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

int tune_fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent tune: %s\n", text);
	return status;
}

static const struct {
	const char *name;
	int (*act)(struct tune_request *asked);
	bool takes_rules;
} actions[] = {
	{ "show", tune_show, true },	      { "apply", tune_apply, true },
	{ "undo", tune_undo_profile, false }, { "status", tune_print_status, false },
	{ "hold", tune_hold, true },
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
			return tune_fail(2,
					 count ? "undo and status take --profile NAME and no rules" :
						 "there is no rule; see rtscope-agent tune --help");
		if (count && tune_rules_parse(words, count, &request.rules, error, sizeof(error)))
			return tune_fail(2, error);
		if (count && !request.profile)
			request.profile = "rules";
		request.rules.profile = request.profile;
		return actions[i].act(&request);
	}
	return tune_fail(2,
			 "the first word must be show, apply, undo, status or hold; see rtscope-agent tune --help");
}

int tune_main(int argc, char **argv)
{
	const struct option_set set = { .command = "tune", .own = tune_options };
	char error[512];
	int words = options_parse(&set, argc, argv, error, sizeof(error)), result;

	if (words < 0)
		return tune_fail(2, error);
	if (wants_help) {
		help();
		return 0;
	}
	if (!words)
		return run("", NULL, 0);
	result = run(argv[1], argv + 2, (unsigned int)(words - 1));
	tune_rules_free(&request.rules);
	return result;
}
