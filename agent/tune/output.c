// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/json.h"
#include "base/warning.h"
#include "proc/outlet.h"
#include "proc/polling.h"
#include "tune/output.h"

#define QUEUE_SIZE (64 * 1024)
#define QUEUE_MAX  (1024 * 1024) /* of changes that nobody reads while rules are held */
#define TICK_NS	   (100 * NSEC_PER_MSEC)

static bool lines; /* JSON lines; else for a person */
static struct json json = { .fd = STDOUT_FILENO };
static unsigned int changes;
static struct outlet out; /* of hold, which must not wait for a reader */
static FILE *text_out;	  /* of @out; NULL: standard output */
static bool may_drop;
static unsigned long dropped;

void tune_output_warn(const char *code, const char *text)
{
	warning_report(lines ? &json : NULL, code, text);
}

static void end_text(void)
{
	if (lines || !out.open)
		return;
	fflush(text_out);
	outlet_end_line(&out);
}

void tune_output_change(const struct tune_change *change)
{
	changes++;
	if (may_drop && outlet_waiting(&out) > QUEUE_MAX) {
		dropped++;
		return;
	}
	if (lines)
		tune_change_send(&json, change);
	else
		tune_change_print(text_out ? text_out : stdout, change);
	end_text();
}

void tune_output_plan(const struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->change[i].kind != &tune_side_effect)
			tune_output_change(&plan->change[i]);
	}
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

int tune_output_queue(void)
{
	int error = outlet_open(&out, STDOUT_FILENO, QUEUE_SIZE);

	if (error)
		return error;
	json.sink = &out.sink;
	text_out = outlet_stream(&out);
	return text_out ? 0 : ENOMEM;
}

void tune_output_report_dropped(void)
{
	char text[160];

	if (!dropped)
		return;
	snprintf(text, sizeof(text),
		 "nothing read the output for a while; changes made and not reported: %lu",
		 dropped);
	tune_output_warn("output-blocked", text);
}

void tune_output_may_drop(bool may)
{
	if (may)
		outlet_follow(&out);
	may_drop = may;
}

void tune_output_begin(bool json_lines)
{
	lines = json_lines;
	polling_begin();
	if (lines)
		hello_write(&json);
}

bool tune_output_end(int status)
{
	if (lines)
		polling_end(&json, status ? "failed" : "complete", 0);
	else if (!changes)
		fputs("nothing to do\n", text_out ? text_out : stdout);
	end_text();
	return !json.failed && all_written();
}
