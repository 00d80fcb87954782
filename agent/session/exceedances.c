// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "session/exceedances.h"

static struct kept {
	struct measuring *measuring;
	struct ring_sample *sample; /* in order of time */
	unsigned int count;
} *kept;

static unsigned int threads, wanted;
static uint64_t *order; /* for sorting */

static bool prepare(struct session *session)
{
	wanted = session->options.exceedances;
	kept = calloc(session->threads, sizeof(*kept));
	order = calloc(2 * (size_t)wanted, sizeof(*order));
	if (!kept || !order)
		return false;
	for (unsigned int i = 0; i < session->threads; i++) {
		struct measuring *measuring = &session->measuring[i];
		struct ring_sample *sample;

		if (measuring->role.silent)
			continue;
		sample = calloc(2 * (size_t)wanted, sizeof(*sample));
		if (!sample || record_queue_exceedances(&measuring->record))
			return false;
		kept[threads++] = (struct kept){ .measuring = measuring, .sample = sample };
	}
	return true;
}

void exceedances_prepare(struct session *session)
{
	if (!session->options.exceedances)
		return;
	if (!session->options.json)
		session_warn("no-exceedances",
			     "the largest samples are not kept: the agent's table has no room for them; add --json");
	else if (!prepare(session))
		session_warn("no-exceedances", "the largest samples are not kept: out of memory");
	else
		return;
	threads = 0;
}

bool exceedances_are_kept(void)
{
	return threads;
}

static int by_size(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return a < b ? 1 : a > b ? -1 : 0;
}

/*
 * The threshold above which about as many samples lie as are wanted. Equal samples stay together:
 * if that makes half as many more than wanted, they are all left out.
 */
static uint64_t threshold_of(const struct kept *one)
{
	unsigned int equal = wanted;

	for (unsigned int i = 0; i < one->count; i++)
		order[i] = one->sample[i].latency_ns;
	qsort(order, one->count, sizeof(*order), by_size);
	while (equal < one->count && order[equal] == order[wanted - 1])
		equal++;
	return equal <= wanted + wanted / 2 ? order[wanted - 1] - 1 : order[wanted - 1];
}

static void raise_threshold(struct kept *one)
{
	uint64_t threshold_ns = threshold_of(one);
	unsigned int left = 0;

	record_set(one->measuring->record.exceed_ns, threshold_ns);
	for (unsigned int i = 0; i < one->count; i++) {
		if (one->sample[i].latency_ns > threshold_ns)
			one->sample[left++] = one->sample[i];
	}
	one->count = left;
}

static void take(struct kept *one)
{
	struct record *record = &one->measuring->record;
	struct ring_sample sample;

	while (ring_pop(record->exceedances, &sample)) {
		if (sample.latency_ns <= record->exceed_ns)
			continue; /* queued before the threshold was raised */
		one->sample[one->count++] = sample;
		if (one->count == 2 * wanted)
			raise_threshold(one);
	}
}

void exceedances_take(void)
{
	for (unsigned int i = 0; i < threads; i++)
		take(&kept[i]);
}

static void write_thread(const struct session *session, const struct kept *one, struct json *json)
{
	const struct record *record = &one->measuring->record;

	json_begin(json, "exceedances");
	json_u64(json, "thread", one->measuring->index);
	json_u64(json, "above_ns", record->exceed_ns);
	json_u64(json, "dropped", record->exceedances->dropped);
	json_array_begin(json, "time_ns");
	for (unsigned int i = 0; i < one->count; i++)
		json_u64(json, NULL, one->sample[i].time_ns - session->start_ns);
	json_array_end(json);
	json_array_begin(json, "latency_ns");
	for (unsigned int i = 0; i < one->count; i++)
		json_u64(json, NULL, one->sample[i].latency_ns);
	json_array_end(json);
	json_end(json);
}

void exceedances_write(struct session *session)
{
	exceedances_take();
	for (unsigned int i = 0; i < threads; i++)
		write_thread(session, &kept[i], &session->json);
}
