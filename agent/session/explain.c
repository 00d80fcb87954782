// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/explain.h"
#include "session/league.h"
#include "trace/pages.h"
#include "trace/sched.h"

#define LEAGUE_NS      (60 * NSEC_PER_SEC)
#define STREAM_BURST   64U	    /* windows that may follow each other at once, */
#define STREAM_EACH_NS NSEC_PER_SEC /* and then one each */

static struct trace_instance instance = { .tracefs = -1 };
static struct trace_window windows[TRACE_WINDOWS_MAX];
static unsigned int wanted, used; /* windows */
static bool on, recorded, decodes, probe_decodes;
static uint64_t lost_rounds;

/* Windows that are written as they come. */
static struct {
	bool is_on;
	unsigned int tokens;
	uint64_t refilled_ns;
	uint64_t largest_ns;
	uint64_t skipped;
	uint64_t league_ns; /* when it was written last */
} stream;

static void give_up(const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "late samples cannot be explained: %.400s", why);
	session_warn("no-trace", text);
	trace_instance_close(&instance);
}

static bool make_queues(const struct session *session)
{
	for (unsigned int i = 0; i < session->threads; i++) {
		struct measuring *measuring = &session->measuring[i];

		if (!measuring->role.silent &&
		    record_queue_late(&measuring->record, session->options.above_ns))
			return false;
	}
	return true;
}

static void take_event(const struct sched_event *event, void *data)
{
	const struct session *session = data;

	if (league_is_kept())
		league_take(event);
	if (probe_decodes)
		session->probe->sched_event(event, session->measuring);
}

static void take_page(const uint8_t *page, unsigned int cpu, bool follows_loss, void *data)
{
	if (follows_loss) {
		lost_rounds++;
		if (league_is_kept())
			league_lose(cpu);
	}
	sched_events_of_page(page, cpu, take_event, data);
}

/* The windows that the options ask for; 0: none. */
static unsigned int windows_wanted(const struct session_options *options)
{
	if (!options->explain && !options->above_ns)
		return 0;
	if (!options->json) {
		give_up("the agent's table has no room for it; add --json");
		return 0;
	}
	return options->explain && !options->explain_stream ? options->explain : TRACE_WINDOWS_MAX;
}

static void warn_of_deep(void)
{
	char text[256];

	if (trace_instance_deepen(&instance))
		return;
	snprintf(text, sizeof(text),
		 "the tracer '%s' of --explain-deep cannot be started (%s): samples are explained without it",
		 trace_deep_names[instance.deep], strerror(errno));
	session_warn("no-deep-trace", text);
	instance.deep = TRACE_DEEP_NONE;
}

static int open_trace(struct session *session, char *error, size_t error_size)
{
	if (trace_instance_open(&instance, session->options.deep, error, error_size))
		return -1;
	if (trace_pages_open(&instance, clock_now_ns()) || (wanted && !make_queues(session))) {
		snprintf(error, error_size, "the trace's buffers cannot be opened: %s",
			 strerror(errno));
		return -1;
	}
	if (decodes && !sched_events_open(&instance)) {
		snprintf(error, error_size,
			 "the kernel lacks the trace events sched_switch and sched_waking");
		return -1;
	}
	warn_of_deep();
	return 0;
}

int explain_prepare(struct session *session, char *error, size_t error_size)
{
	bool needed = session->probe->needs_trace && session->probe->needs_trace();
	char why[400];

	wanted = windows_wanted(&session->options);
	league_prepare(session);
	probe_decodes = needed;
	decodes = needed || league_is_kept();
	if (!wanted && !decodes)
		return 0;
	if (open_trace(session, why, sizeof(why))) {
		trace_pages_close();
		wanted = 0;
		if (!needed) {
			give_up(why);
			return 0;
		}
		trace_instance_close(&instance);
		snprintf(error, error_size, "%s measures by the kernel's trace, and %.400s",
			 session->probe->name, why);
		return -1;
	}
	on = true;
	if (decodes)
		trace_pages_observe(take_page, session);
	stream.is_on = wanted && session->options.explain_stream;
	stream.tokens = STREAM_BURST;
	if (stream.is_on)
		trace_instance_write(&instance, &session->json);
	return 0;
}

void explain_start(void)
{
	stream.league_ns = clock_now_ns();
	if (!on || trace_instance_record(&instance, true))
		return;
	wanted = 0;
	on = false;
	trace_pages_close();
	give_up("the kernel refuses to switch its trace on");
}

bool explain_is_on(void)
{
	return on;
}

/* The window of a sample that is among the worst so far; NULL for another. */
static struct trace_window *window_for(uint64_t latency_ns)
{
	struct trace_window *least = &windows[0];

	if (used < wanted)
		return &windows[used++];
	if (stream.is_on)
		return NULL;
	for (unsigned int i = 1; i < used; i++) {
		if (windows[i].latency_ns < least->latency_ns)
			least = &windows[i];
	}
	if (latency_ns <= least->latency_ns)
		return NULL;
	trace_window_free(least);
	return least;
}

/* Whether a stream takes this sample: about one a second, and each that is the largest so far. */
static bool may_stream(uint64_t latency_ns)
{
	bool is_largest = latency_ns > stream.largest_ns;

	if (is_largest)
		stream.largest_ns = latency_ns;
	if (stream.tokens)
		stream.tokens--;
	else if (!is_largest)
		return false;
	return true;
}

static void take(const struct measuring *measuring)
{
	struct worst_sample sample;

	while (late_pop(measuring->record.late, &sample)) {
		struct trace_window *window = NULL;

		if (!stream.is_on || may_stream(sample.latency_ns))
			window = window_for(sample.latency_ns);
		if (window)
			*window = (struct trace_window){
				.thread = measuring->index,
				.tid = sample.tid,
				.cpu = sample.cpu,
				.due_ns = sample.time_ns,
				.latency_ns = sample.latency_ns,
			};
		else
			stream.skipped++;
	}
}

static void copy_windows(void)
{
	struct trace_window *copied[TRACE_WINDOWS_MAX];
	unsigned int count = 0;

	for (unsigned int i = 0; i < used; i++) {
		if (!windows[i].part)
			copied[count++] = &windows[i];
	}
	if (!count)
		return;
	if (!decodes)
		trace_pages_read();
	trace_pages_copy(copied, count);
}

static void write_windows(struct session *session)
{
	for (unsigned int i = 0; i < used; i++) {
		trace_window_write(&windows[i], &session->json);
		trace_window_free(&windows[i]);
	}
	used = 0;
}

static void write_stream(struct session *session)
{
	uint64_t now_ns = clock_now_ns();

	write_windows(session);
	if (now_ns - stream.refilled_ns >= STREAM_EACH_NS) {
		stream.refilled_ns = now_ns;
		stream.tokens += stream.tokens < STREAM_BURST;
	}
	if (now_ns - stream.league_ns >= LEAGUE_NS) {
		stream.league_ns = now_ns;
		league_write(session);
	}
}

static void decode(struct session *session)
{
	uint64_t before_ns = clock_now_ns(), lost = lost_rounds;

	trace_pages_read();
	if (probe_decodes)
		session->probe->sched_round(session->measuring, before_ns, lost_rounds != lost);
}

void explain_copy(struct session *session)
{
	if (!on)
		return;
	if (decodes)
		decode(session);
	for (unsigned int i = 0; wanted && i < session->threads; i++) {
		if (!session->measuring[i].role.silent)
			take(&session->measuring[i]);
	}
	copy_windows();
	if (stream.is_on)
		write_stream(session);
}

void explain_stop(struct session *session)
{
	if (!on)
		return;
	explain_copy(session);
	trace_instance_record(&instance, false);
	trace_pages_close();
	on = false;
	recorded = wanted;
}

static void write_end(struct session *session)
{
	uint64_t skipped = stream.is_on ? stream.skipped : 0;

	for (unsigned int i = 0; i < session->threads; i++) {
		if (session->measuring[i].record.late)
			skipped += session->measuring[i].record.late->left_out;
	}
	json_begin(&session->json, "trace-end");
	json_u64(&session->json, "skipped", skipped);
	json_end(&session->json);
}

void explain_write(struct session *session)
{
	league_write(session);
	if (!recorded)
		return;
	if (!stream.is_on)
		trace_instance_write(&instance, &session->json);
	write_windows(session);
	write_end(session);
}

void explain_close(void)
{
	trace_instance_close(&instance);
}
