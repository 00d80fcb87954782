// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/explain.h"
#include "trace/pages.h"

static struct trace_instance instance = { .tracefs = -1 };
static struct trace_window windows[TRACE_WINDOWS_MAX];
static unsigned int wanted, used;
static bool recorded;

static void give_up(const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "the worst samples cannot be explained: %.400s", why);
	session_warn("no-trace", text);
	trace_instance_close(&instance);
}

static bool make_queues(const struct session *session)
{
	for (unsigned int i = 0; i < session->threads; i++) {
		struct measuring *measuring = &session->measuring[i];

		if (!measuring->role.silent && record_queue_late(&measuring->record))
			return false;
	}
	return true;
}

void explain_prepare(const struct session *session)
{
	char error[400];

	if (!session->options.explain)
		return;
	if (!session->options.json) {
		give_up("the agent's table has no room for them; add --json");
		return;
	}
	if (trace_instance_open(&instance, error, sizeof(error))) {
		give_up(error);
		return;
	}
	if (trace_pages_open(&instance, clock_now_ns()) || !make_queues(session)) {
		snprintf(error, sizeof(error), "the trace's buffers cannot be opened: %s",
			 strerror(errno));
		trace_pages_close();
		give_up(error);
		return;
	}
	wanted = session->options.explain;
}

void explain_start(void)
{
	if (!wanted || trace_instance_record(&instance, true))
		return;
	wanted = 0;
	trace_pages_close();
	give_up("the kernel refuses to switch its trace on");
}

bool explain_is_on(void)
{
	return wanted;
}

/* The window of a sample that is among the worst so far; NULL for another. */
static struct trace_window *window_for(uint64_t latency_ns)
{
	struct trace_window *least = &windows[0];

	if (used < wanted)
		return &windows[used++];
	for (unsigned int i = 1; i < used; i++) {
		if (windows[i].latency_ns < least->latency_ns)
			least = &windows[i];
	}
	if (latency_ns <= least->latency_ns)
		return NULL;
	trace_window_free(least);
	return least;
}

static void take(const struct measuring *measuring)
{
	struct worst_sample sample;

	while (late_pop(measuring->record.late, &sample)) {
		struct trace_window *window = window_for(sample.latency_ns);

		if (window)
			*window = (struct trace_window){
				.thread = measuring->index,
				.cpu = sample.cpu,
				.due_ns = sample.time_ns,
				.latency_ns = sample.latency_ns,
			};
	}
}

void explain_copy(const struct session *session)
{
	struct trace_window *copied[TRACE_WINDOWS_MAX];
	unsigned int count = 0;

	if (!wanted)
		return;
	for (unsigned int i = 0; i < session->threads; i++) {
		if (!session->measuring[i].role.silent)
			take(&session->measuring[i]);
	}
	for (unsigned int i = 0; i < used; i++) {
		if (!windows[i].part)
			copied[count++] = &windows[i];
	}
	if (count)
		trace_pages_copy(copied, count);
}

void explain_stop(const struct session *session)
{
	if (!wanted)
		return;
	explain_copy(session);
	trace_instance_record(&instance, false);
	trace_pages_close();
	wanted = 0;
	recorded = true;
}

void explain_write(struct session *session)
{
	if (!recorded)
		return;
	trace_instance_write(&instance, &session->json);
	for (unsigned int i = 0; i < used; i++)
		trace_window_write(&windows[i], &session->json);
}

void explain_close(void)
{
	trace_instance_close(&instance);
}
