// SPDX-License-Identifier: GPL-2.0-only
/* Writing a session: the protocol; what a person reads is in session_table.c. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/warning.h"
#include "proc/throttling.h"
#include "session/table.h"
#include "tune/change.h"

/* Warnings and the start line: some 200 bytes a thread. It grows where there are many. */
#define QUEUE_SIZE (64 * 1024)
/* The longest progress line, for a thread: its metrics, and some 24 bytes for each bucket. */
#define PROGRESS_MAX (512 + 24 * HISTOGRAM_COARSE_BUCKETS)
#define TRACES_MAX   (8 * 1024 * 1024) /* of traces that are written while measuring */
#define BLOCKED_NS   NSEC_PER_SEC

bool output_wanted(struct session *session)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	if (outlet_failed(&session->out))
		return false;
	return poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP | POLLNVAL));
}

int output_open(struct session *session)
{
	int error = outlet_open(&session->out, STDOUT_FILENO, QUEUE_SIZE);

	if (!error)
		error = outlet_open(&session->err, STDERR_FILENO, QUEUE_SIZE);
	if (error)
		return error;
	session->json.sink = &session->out.sink;
	session->text = outlet_stream(&session->out);
	return session->text ? 0 : ENOMEM;
}

void output_may_drop(struct session *session, bool may_drop)
{
	size_t most = QUEUE_SIZE + session->rows * PROGRESS_MAX;

	if (session->options.explain_stream)
		most += TRACES_MAX;
	outlet_set_limit(&session->out, may_drop ? most : OUTLET_NO_LIMIT);
	outlet_set_limit(&session->err, may_drop ? QUEUE_SIZE : OUTLET_NO_LIMIT);
}

bool output_wait(struct session *session, uint64_t until_ns)
{
	bool out = outlet_wait(&session->out, until_ns);

	return outlet_wait(&session->err, until_ns) && out;
}

void output_complain(struct session *session, const char *before, const char *text)
{
	struct outlet *err = &session->err;

	if (!err->open) {
		fprintf(stderr, "%s%s\n", before, text);
		return;
	}
	outlet_put(err, before, strlen(before));
	outlet_put(err, text, strlen(text));
	outlet_put(err, "\n", 1);
	outlet_end_line(err);
}

void output_end_text(struct session *session)
{
	fflush(session->text);
	outlet_end_line(&session->out);
}

bool output_may_progress(struct session *session, uint64_t now_ns)
{
	if (outlet_is_idle(&session->out)) {
		session->blocked_since_ns = 0;
		return true;
	}
	session->progress_dropped++;
	if (!session->blocked_since_ns)
		session->blocked_since_ns = now_ns;
	if (now_ns - session->blocked_since_ns > session->blocked_longest_ns)
		session->blocked_longest_ns = now_ns - session->blocked_since_ns;
	return false;
}

void output_report_blocked(struct session *session)
{
	char text[256];

	if (session->blocked_longest_ns < BLOCKED_NS)
		return;
	snprintf(text, sizeof(text),
		 "nothing read the output for up to %.1f s, so %llu of the %s were left out; the measurement went on",
		 (double)session->blocked_longest_ns / NSEC_PER_SEC,
		 (unsigned long long)session->progress_dropped,
		 session->options.json ? "progress lines" : "table updates");
	output_warning(session, "output-blocked", text);
}

/* Of a moment that may lie before the start, when a run is interrupted early. */
static uint64_t since_start_ns(const struct session *session, uint64_t ns)
{
	return ns > session->start_ns ? ns - session->start_ns : 0;
}

void output_warning(struct session *session, const char *code, const char *text)
{
	if (session->options.json)
		json_warning(&session->json, code, text);
	else
		output_complain(session, "warning: ", text);
}

void output_change(struct session *session, const struct tune_change *change)
{
	if (session->options.json) {
		tune_change_send(&session->json, change);
		return;
	}
	tune_change_print(session->text, change);
	output_end_text(session);
}

static void put_tristate(struct json *json, const char *key, enum tristate state)
{
	if (state == STATE_UNKNOWN)
		json_null(json, key);
	else
		json_bool(json, key, state == STATE_YES);
}

static void put_thread_head(struct json *json, const struct measuring *measuring)
{
	json_u64(json, "thread", measuring->index);
	json_string(json, "name", measuring->role.name);
	json_cpu(json, measuring->role.cpu);
	json_string(json, "policy", policy_names[measuring->schedule.policy]);
	json_u64(json, "priority", measuring->schedule.priority);
}

static uint64_t utc_now_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

static void put_load_head(struct json *json, const struct load_work *work)
{
	json_string(json, "name", work->name);
	json_u64(json, "strength", work->strength);
	json_u64(json, "seed", work->seed);
}

void output_start(struct session *session)
{
	const struct session_options *options = &session->options;
	const struct probe *probe = session->probe;
	struct json *json = &session->json;
	struct load_work work;

	if (!options->json)
		return;
	json_begin(json, "start");
	json_string(json, "probe", probe->name);
	json_u64(json, "utc_ns", utc_now_ns() - clock_now_ns() + session->start_ns);
	json_u64(json, "monotonic_ns", session->start_ns);
	json_u64(json, "interval_ns", options->interval_ns);
	json_u64(json, "duration_ns", options->duration_ns);
	json_u64(json, "samples", options->samples);
	json_string(json, "policy", policy_names[options->policy]);
	json_u64(json, "priority", options->priority);
	json_u64(json, "seed", options->seed);
	json_u64(json, "threshold_ns", options->threshold_ns);
	json_object_begin(json, "options");
	options_report(probe->options, json);
	if (probe->describe)
		probe->describe(json);
	json_object_end(json);
	json_array_begin(json, "facts");
	for (unsigned int i = 0; probe->metrics && probe->metrics[i]; i++)
		json_string(json, NULL, probe->metrics[i]);
	if (options->cpu_counts) {
		json_string(json, NULL, SESSION_METRIC_INTERRUPTS);
		json_string(json, NULL, SESSION_METRIC_SWITCHES);
	}
	json_array_end(json);
	put_tristate(json, "high_resolution", session->high_resolution);
	idle_states_put(json, &options->idle);
	throttling_put(session->throttling, json);
	json_u64(json, "notice_address", record_notice_address());
	json_array_begin(json, "threads");
	for (unsigned int i = 0; i < session->threads; i++) {
		if (session->measuring[i].role.silent)
			continue;
		json_object_begin(json, NULL);
		put_thread_head(json, &session->measuring[i]);
		json_i64(json, "tid", session->measuring[i].tid);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "loads");
	for (unsigned int i = 0; i < load_set_size(session->loads); i++) {
		load_set_read(session->loads, i, &work);
		json_object_begin(json, NULL);
		put_load_head(json, &work);
		json_object_end(json);
	}
	json_array_end(json);
	json_end(json);
}

static void put_work(struct session *session, unsigned int index, const struct load_work *work)
{
	json_object_begin(&session->json, "work");
	for (unsigned int unit = 0; unit < work->units; unit++)
		json_u64(&session->json, work->unit[unit],
			 work->total[unit] - session->load_base[index][unit]);
	json_object_end(&session->json);
}

/*
 * The histogram's increase since the last report, so that it is not lost with the agent. The
 * thread sets its limits after the bucket: the part beyond them is reported the next time.
 */
static void put_gained(struct json *json, struct measuring *measuring)
{
	const struct record *record = &measuring->record;
	uint64_t max = record_get(record->max_ns);

	json_array_begin(json, "gained");
	for (unsigned int i = histogram_coarse_index(record_get(record->min_ns));
	     i <= histogram_coarse_index(max); i++) {
		uint64_t count = histogram_coarse_count(record->histogram, i);

		if (count == measuring->seen.coarse[i])
			continue;
		json_array_begin(json, NULL);
		json_u64(json, NULL, histogram_coarse_lower_ns(i));
		json_u64(json, NULL, count - measuring->seen.coarse[i]);
		json_array_end(json);
		measuring->seen.coarse[i] = count;
	}
	json_array_end(json);
}

static void put_thread_progress(struct json *json, struct measuring *measuring)
{
	const struct record *record = &measuring->record;
	uint64_t count = __atomic_load_n(&record->count, __ATOMIC_ACQUIRE);
	uint64_t sum = record_get(record->sum_ns);
	uint64_t max = record_get(record->max_ns);
	uint64_t window_count = count - measuring->seen.count;
	uint64_t window_max = record_end_window(&measuring->record);

	json_object_begin(json, NULL);
	json_u64(json, "thread", measuring->index);
	json_u64(json, "count", count);
	json_u64(json, "missed", record_get(record->missed));
	json_u64_if(json, count, "min_ns", record_get(record->min_ns));
	json_double_if(json, count, "mean_ns", (double)sum / (double)count);
	json_u64_if(json, count, "p999_ns",
		    histogram_tail_ns(record->histogram, count / 1000, max));
	json_u64_if(json, count, "max_ns", max);
	json_object_begin(json, "window");
	json_u64(json, "count", window_count);
	json_double_if(json, window_count, "mean_ns",
		       (double)(sum - measuring->seen.sum_ns) / (double)window_count);
	json_u64_if(json, window_count || window_max, "max_ns", window_max);
	json_object_end(json);
	put_gained(json, measuring);
	json_object_end(json);

	measuring->seen.count = count;
	measuring->seen.sum_ns = sum;
}

static void json_progress(struct session *session, uint64_t now_ns)
{
	struct json *json = &session->json;
	struct load_work work;

	json_begin(json, "progress");
	json_u64(json, "time_ns", since_start_ns(session, now_ns));
	json_array_begin(json, "threads");
	for (unsigned int i = 0; i < session->threads; i++) {
		if (!session->measuring[i].role.silent)
			put_thread_progress(json, &session->measuring[i]);
	}
	json_array_end(json);
	json_array_begin(json, "loads");
	for (unsigned int i = 0; i < load_set_size(session->loads); i++) {
		load_set_read(session->loads, i, &work);
		json_object_begin(json, NULL);
		json_string(json, "name", work.name);
		put_work(session, i, &work);
		json_object_end(json);
	}
	json_array_end(json);
	json_end(json);
}

void output_progress(struct session *session, uint64_t now_ns)
{
	if (session->options.json) {
		json_progress(session, now_ns);
		return;
	}
	if (session->options.quiet || !isatty(STDOUT_FILENO))
		return;
	table_draw(session);
	output_end_text(session);
}

static void json_thread(struct session *session, const struct measuring *measuring)
{
	const struct record *record = &measuring->record;
	struct json *json = &session->json;

	json_begin(json, "thread");
	put_thread_head(json, measuring);
	json_u64(json, "count", record->count);
	json_u64(json, "missed", record->missed);
	json_u64(json, "early", record->early);
	json_u64_if(json, record->count, "min_ns", record->min_ns);
	json_u64_if(json, record->count, "max_ns", record->max_ns);
	json_double_if(json, record->count, "mean_ns", record_mean_ns(record));
	json_double_if(json, record->count, "stddev_ns", record_stddev_ns(record));
	json_array_begin(json, "worst");
	for (unsigned int i = 0; i < record->worst_count; i++) {
		json_object_begin(json, NULL);
		json_u64(json, "time_ns", record->worst[i].time_ns - session->start_ns);
		json_u64(json, "latency_ns", record->worst[i].latency_ns);
		json_u64(json, "notice", record->worst[i].notice);
		json_cpu(json, record->worst[i].cpu);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_begin(json, "facts");
	for (unsigned int i = 0; i < measuring->metric_count; i++)
		json_double(json, measuring->metric[i].key, measuring->metric[i].value);
	json_object_end(json);
	if (session->probe->add)
		session->probe->add(measuring, json);
	json_end(json);
}

static void put_buckets(struct json *json, const char *key, const struct record *record,
			uint64_t (*value)(unsigned int index))
{
	const uint64_t *count = record->histogram->count;

	json_array_begin(json, key);
	for (unsigned int i = histogram_index(record->min_ns);
	     record->count && i <= histogram_index(record->max_ns); i++) {
		if (count[i])
			json_u64(json, NULL, value ? value(i) : count[i]);
	}
	json_array_end(json);
}

static void json_histogram(struct session *session, const struct measuring *measuring)
{
	const struct record *record = &measuring->record;
	struct json *json = &session->json;

	json_begin(json, "histogram");
	json_u64(json, "thread", measuring->index);
	put_buckets(json, "lower_ns", record, histogram_lower_ns);
	put_buckets(json, "width_ns", record, histogram_width_ns);
	put_buckets(json, "count", record, NULL);
	json_end(json);
}

static void json_loads(struct session *session, uint64_t end_ns)
{
	double seconds = (double)(end_ns - session->load_start_ns) / NSEC_PER_SEC;
	struct json *json = &session->json;
	struct load_work work;

	for (unsigned int i = 0; i < load_set_size(session->loads); i++) {
		load_set_read(session->loads, i, &work);
		json_begin(json, "load");
		put_load_head(json, &work);
		json_double(json, "seconds", seconds);
		put_work(session, i, &work);
		json_end(json);
	}
}

static void put_phase(struct session *session, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	struct json *json = &session->json;

	json_object_begin(json, NULL);
	json_string(json, "name", name);
	json_i64(json, "from_ns", (int64_t)(from_ns - session->start_ns));
	json_i64(json, "to_ns", (int64_t)(to_ns - session->start_ns));
	json_object_end(json);
}

/* @end_ns is before the start where a run was interrupted before its first sample. */
static void put_phases(struct session *session, uint64_t end_ns)
{
	uint64_t first_ns = end_ns < session->start_ns ? end_ns : session->start_ns;
	bool loaded = load_set_size(session->loads);

	json_array_begin(&session->json, "phases");
	if (loaded) {
		put_phase(session, "load coming up", session->load_begun_ns, session->load_up_ns);
		put_phase(session, "load alone", session->load_up_ns, first_ns);
	}
	put_phase(session, "measuring", first_ns, end_ns);
	if (loaded)
		put_phase(session, "load ending", end_ns, session->load_gone_ns);
	json_array_end(&session->json);
}

void output_end(struct session *session, const char *status, uint64_t end_ns)
{
	uint64_t time_ns = since_start_ns(session, end_ns);
	struct json *json = &session->json;

	if (!session->options.json) {
		fprintf(session->text, "# %s after %.3f s\n", status,
			(double)time_ns / NSEC_PER_SEC);
		output_end_text(session);
		return;
	}
	json_begin(json, "end");
	json_string(json, "status", status);
	json_u64(json, "time_ns", time_ns);
	json_u64(json, "progress_dropped", session->progress_dropped);
	put_tristate(json, "high_resolution", session->high_resolution);
	if (!session->options.dry_run)
		put_phases(session, end_ns);
	json_end(json);
}

void output_result(struct session *session, uint64_t end_ns)
{
	if (!session->options.json) {
		table_finish(session, end_ns);
		output_end_text(session);
		return;
	}
	for (unsigned int i = 0; i < session->threads; i++) {
		if (session->measuring[i].role.silent)
			continue;
		json_thread(session, &session->measuring[i]);
		json_histogram(session, &session->measuring[i]);
	}
	if (session->probe->write)
		session->probe->write(&session->json);
	json_loads(session, end_ns);
}
