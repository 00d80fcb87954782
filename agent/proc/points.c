// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb points: show and switch the measurement points of a running program.
 *
 * The program is not stopped and takes no part: its page of points is mapped and
 * read. The mapping outlives the program, so its last values are shown after its
 * end. All changes are checked before the first one is made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/json.h"
#include "base/options.h"
#include "proc/polling.h"
#include "proc/points.h"
#include "proc/points_output.h"

#define CHANGES_MAX	256
#define INTERVAL_MIN_NS (10 * NSEC_PER_MSEC)

enum change_kind {
	CHANGE_ENABLE,
	CHANGE_DISABLE,
	CHANGE_PAUSE,
	CHANGE_RESUME,
	CHANGE_RESET,
};

static struct {
	pid_t pid;
	uint64_t interval_ns; /* 0: once */
	bool json;
	bool histograms;
	bool help;
	unsigned int changes;
	struct {
		enum change_kind what;
		const char *point; /* NULL: all points */
	} change[CHANGES_MAX];
} asked;

static struct points_target target;
static struct json json;
static uint64_t start_ns;

static bool add_change(enum change_kind what, const char *point)
{
	if (asked.changes == CHANGES_MAX)
		return false;
	asked.change[asked.changes].what = what;
	asked.change[asked.changes++].point = point;
	return true;
}

static bool parse_enable(const char *text, void *value)
{
	(void)value;
	return add_change(CHANGE_ENABLE, text);
}

static bool parse_disable(const char *text, void *value)
{
	(void)value;
	return add_change(CHANGE_DISABLE, text);
}

static bool parse_pause(const char *text, void *value)
{
	(void)text;
	(void)value;
	return add_change(CHANGE_PAUSE, NULL);
}

static bool parse_resume(const char *text, void *value)
{
	(void)text;
	(void)value;
	return add_change(CHANGE_RESUME, NULL);
}

static bool parse_reset(const char *text, void *value)
{
	(void)text;
	(void)value;
	return add_change(CHANGE_RESET, NULL);
}

#define TOO_MANY "possible: at most 256 changes are made at once"
_Static_assert(CHANGES_MAX == 256, "the text says how many changes there can be");

const struct option_spec points_options[] = {
	{ .name = "interval",
	  .letter = 'i',
	  .kind = OPTION_TIME,
	  .bare_ns = NSEC_PER_SEC,
	  .min = INTERVAL_MIN_NS,
	  .help = "Read again at this interval until the program ends or Ctrl-C",
	  .value = &asked.interval_ns },
	{ .name = "enable",
	  .kind = OPTION_PARSED,
	  .metavar = "NAME",
	  .wanted = TOO_MANY,
	  .help = "Enable this point; may be repeated",
	  .parse = parse_enable },
	{ .name = "disable",
	  .kind = OPTION_PARSED,
	  .metavar = "NAME",
	  .wanted = TOO_MANY,
	  .help = "Disable this point; may be repeated",
	  .parse = parse_disable },
	{ .name = "pause",
	  .kind = OPTION_ACTION,
	  .wanted = TOO_MANY,
	  .help = "Pause all points; they stay enabled",
	  .parse = parse_pause },
	{ .name = "resume",
	  .kind = OPTION_ACTION,
	  .wanted = TOO_MANY,
	  .help = "End a pause",
	  .parse = parse_resume },
	{ .name = "reset",
	  .kind = OPTION_ACTION,
	  .wanted = TOO_MANY,
	  .help = "Delete all samples",
	  .parse = parse_reset },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol",
	  .value = &asked.json },
	{ .name = "histograms",
	  .kind = OPTION_FLAG,
	  .help = "Add each point's histogram to the JSON Lines",
	  .value = &asked.histograms },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &asked.help },
	{ 0 },
};

static void help(void)
{
	puts("usage: rtscope-agent points PID [OPTIONS]\n\n"
	     "Show the measurement points (rtscope/points.h) of a running program.\n");
	options_help(points_options, NULL, stdout);
	puts("\nExamples:\n"
	     "  rtscope-agent points 4711 --interval 1\n"
	     "  rtscope-agent points 4711 --disable WFDIAG --reset");
}

static int fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent points: %s\n", text);
	return status;
}

static void warn(const char *code, const char *text)
{
	warning_report(asked.json ? &json : NULL, code, text);
}

/* Returns 0, 1 after help, or -1 with a sentence in @error. */
static int parse(int argc, char **argv, char *error, size_t error_size)
{
	const struct option_set set = { .command = "points", .own = points_options };
	int words = options_parse(&set, argc, argv, error, error_size);
	uint64_t pid;

	if (words < 0)
		return -1;
	if (asked.help) {
		help();
		return 1;
	}
	if (words != 1) {
		snprintf(error, error_size,
			 "give the number of one process; see rtscope-agent points --help");
		return -1;
	}
	if (!option_number(argv[1], INT32_MAX, &pid) || !pid) {
		snprintf(error, error_size, "'%.200s' is not the number of a process", argv[1]);
		return -1;
	}
	asked.pid = (pid_t)pid;
	return 0;
}

/* As rtscope_page_pause() does, but never past the file's end, whatever the page says. */
static void pause_page(const struct points_page *page, bool paused)
{
	unsigned int count;

	__atomic_store_n(&page->memory->paused, paused, __ATOMIC_SEQ_CST);
	count = points_count(page);
	for (unsigned int i = 0; i < count; i++)
		rtscope_switch(&page->memory->point[i], RTSCOPE_PAUSED, paused);
}

/* Do change @what to @page, to the points named @name where it is about one; returns how many. */
static unsigned int change_page(const struct points_page *page, enum change_kind what,
				const char *name, bool really)
{
	unsigned int count = points_count(page), found = 0;
	struct rtscope_point *point = page->memory->point;

	if (what == CHANGE_PAUSE || what == CHANGE_RESUME) {
		if (really)
			pause_page(page, what == CHANGE_PAUSE);
		return 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (name && strncmp(point[i].name, name, sizeof(point[i].name)))
			continue;
		found++;
		if (really && what == CHANGE_RESET)
			rtscope_point_reset(&point[i]);
		else if (really)
			rtscope_point_enable(&point[i], what == CHANGE_ENABLE);
	}
	return found;
}

static int make_changes(bool really, char *error, size_t error_size)
{
	for (unsigned int i = 0; i < asked.changes; i++) {
		unsigned int found = 0;

		for (unsigned int p = 0; p < target.count; p++)
			found += change_page(&target.page[p], asked.change[i].what,
					     asked.change[i].point, really);
		if (!found && asked.change[i].point) {
			snprintf(error, error_size, "%s has no point '%.60s'; nothing was changed",
				 target.name, asked.change[i].point);
			return -1;
		}
	}
	return 0;
}

static void show(void)
{
	points_show(&target, asked.json ? &json : NULL, asked.histograms, clock_now_ns() - start_ns,
		    warn);
}

/* If the program has executed another one, its values do not change any more. */
static void check_held(void)
{
	static bool warned;

	for (unsigned int i = 0; i < target.count && !warned; i++) {
		if (points_held(&target, &target.page[i]) || !points_alive(&target))
			continue;
		warned = true;
		warn("points-closed",
		     "the program has closed its points' file descriptor, or become another program: values that no longer change are the last ones");
	}
}

/* Show the points at each interval until the program ends. Returns the status of the output. */
static const char *watch(void)
{
	uint64_t next_ns = clock_now_ns() + asked.interval_ns;

	while (points_alive(&target)) {
		if (!polling_wait(&json, asked.interval_ns))
			return "interrupted";
		if (clock_now_ns() < next_ns)
			continue;
		check_held();
		show();
		next_ns += asked.interval_ns;
	}
	show();
	warn("process-ended", "the program has ended; its last values are shown");
	return "complete";
}

int points_main(int argc, char **argv)
{
	const char *status = "complete";
	char error[512], left_out[512];
	int parsed = parse(argc, argv, error, sizeof(error));

	json.fd = STDOUT_FILENO;
	start_ns = clock_now_ns();
	if (parsed)
		return parsed > 0 ? 0 : fail(2, error);
	if (points_open(&target, asked.pid, asked.changes, left_out, sizeof(left_out)))
		return fail(2, left_out);
	if (make_changes(false, error, sizeof(error)))
		return fail(2, error);
	polling_begin();
	if (asked.json)
		hello_write(&json);
	if (*left_out)
		warn("points-left-out", left_out);
	make_changes(true, error, sizeof(error));
	show();
	if (asked.interval_ns)
		status = watch();
	if (asked.json)
		polling_end(&json, status, clock_now_ns() - start_ns);
	return json.failed || fflush(stdout) || ferror(stdout) ? 1 : 0;
}
