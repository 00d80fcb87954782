// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event begins with a word of 5 bits type_len and 27 bits time_delta, which lie in the CPU's own
 * order of bit-fields (include/linux/ring_buffer.h). The places of an event's fields differ between
 * kernels and come from its file "format".
 */
#include <stdio.h>
#include <string.h>

#include "proc/file.h"
#include "trace/sched.h"

#define TYPE_DATA_MAX	 28
#define TYPE_PADDING	 29
#define TYPE_TIME_EXTEND 30
#define TYPE_TIME_STAMP	 31
#define DELTA_BITS	 27
#define STAMP_BITS	 59
#define COMMIT_MASK	 ((1U << 20) - 1)
#define FORMAT_MAX	 8192
#define TASK_REPORT	 0xffU /* states in which a task sleeps or has ended; 0: it is runnable */

struct place {
	size_t offset, size;
};

static struct {
	unsigned int switch_id, waking_id;
	struct place prev_name, prev_tid, prev_state, next_name, next_tid, woken_name, woken_tid;
	size_t commit_size, page_size;
} layout;

static bool find_field(const char *format, const char *name, struct place *place)
{
	char pattern[48];
	const char *found;

	snprintf(pattern, sizeof(pattern), " %s;", name);
	found = strstr(format, pattern);
	if (!found) {
		snprintf(pattern, sizeof(pattern), " %s[", name);
		found = strstr(format, pattern);
	}
	found = found ? strchr(found, ';') : NULL;
	return found && sscanf(found, "; offset:%zu; size:%zu;", &place->offset, &place->size) == 2;
}

static bool read_format(int folder, const char *event, char *text, size_t size, unsigned int *id)
{
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "events/sched/%s/format", event);
	if (!file_text(folder, path, text, size))
		return false;
	line = strstr(text, "ID: ");
	return line && sscanf(line, "ID: %u", id) == 1;
}

bool sched_events_open(const struct trace_instance *instance)
{
	char text[FORMAT_MAX];

	layout.commit_size = instance->commit_size;
	layout.page_size = instance->page_size;
	return read_format(instance->folder, "sched_switch", text, sizeof(text),
			   &layout.switch_id) &&
	       find_field(text, "prev_comm", &layout.prev_name) &&
	       find_field(text, "prev_pid", &layout.prev_tid) &&
	       find_field(text, "prev_state", &layout.prev_state) &&
	       find_field(text, "next_comm", &layout.next_name) &&
	       find_field(text, "next_pid", &layout.next_tid) &&
	       read_format(instance->folder, "sched_waking", text, sizeof(text),
			   &layout.waking_id) &&
	       find_field(text, "comm", &layout.woken_name) &&
	       find_field(text, "pid", &layout.woken_tid);
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint64_t long_at(const uint8_t *at, size_t size)
{
	uint64_t value;

	if (size != sizeof(value))
		return word_at(at);
	memcpy(&value, at, sizeof(value));
	return value;
}

static void read_task(const uint8_t *event, struct place name, struct place tid,
		      struct sched_task *task)
{
	task->tid = (int)word_at(event + tid.offset);
	memcpy(task->name, event + name.offset, TASK_NAME_SIZE);
}

static bool holds(size_t size, struct place place)
{
	return place.offset + place.size <= size;
}

static void take_event(const uint8_t *data, size_t size, struct sched_event *event,
		       sched_event_fn *take, void *context)
{
	uint16_t id;

	if (size < 2 * sizeof(uint32_t))
		return;
	memcpy(&id, data, sizeof(id));
	event->is_switch = id == layout.switch_id;
	if (event->is_switch) {
		uint64_t state;

		if (!holds(size, layout.next_tid) || !holds(size, layout.next_name))
			return;
		state = long_at(data + layout.prev_state.offset, layout.prev_state.size);
		event->stays_runnable = !(state & TASK_REPORT);
		read_task(data, layout.prev_name, layout.prev_tid, &event->task);
		read_task(data, layout.next_name, layout.next_tid, &event->next);
	} else if (id == layout.waking_id && holds(size, layout.woken_tid)) {
		read_task(data, layout.woken_name, layout.woken_tid, &event->task);
	} else {
		return;
	}
	take(event, context);
}

/* One event of a page. */
struct raw_event {
	unsigned int type;
	uint64_t delta_ns;
	const uint8_t *data;
	size_t size; /* of @data */
};

/* Read the event at @at. Returns where the next one begins; NULL where the page contains no more. */
static const uint8_t *next_event(const uint8_t *at, const uint8_t *end, struct raw_event *event)
{
	uint32_t word, second = 0;
	size_t size;

	if (at + sizeof(word) > end)
		return NULL;
	word = word_at(at);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	event->type = word >> DELTA_BITS;
	event->delta_ns = word & ((1U << DELTA_BITS) - 1);
#else
	event->type = word & 31;
	event->delta_ns = word >> 5;
#endif
	if (event->type == TYPE_PADDING && !event->delta_ns)
		return NULL;
	at += sizeof(word);
	size = event->type * sizeof(word);
	if (!event->type || event->type > TYPE_DATA_MAX) {
		if (at + sizeof(second) > end)
			return NULL;
		second = word_at(at);
		at += sizeof(second);
		size = second < sizeof(second) ? 0 : second - sizeof(second);
	}
	if (event->type >= TYPE_TIME_EXTEND) {
		event->delta_ns += (uint64_t)second << DELTA_BITS;
		size = 0;
	}
	size = (size + 3) & ~(size_t)3;
	if (size > (size_t)(end - at))
		return NULL;
	event->data = at;
	event->size = size;
	return at + size;
}

void sched_events_of_page(const uint8_t *page, unsigned int cpu, sched_event_fn *take, void *data)
{
	const uint8_t *at = page + sizeof(uint64_t) + layout.commit_size;
	size_t used = long_at(page + sizeof(uint64_t), layout.commit_size) & COMMIT_MASK;
	struct sched_event event = { .cpu = cpu };
	struct raw_event raw = { 0 };
	const uint8_t *end = at + used;

	if (used > layout.page_size - (size_t)(at - page))
		return;
	memcpy(&event.time_ns, page, sizeof(event.time_ns));
	while ((at = next_event(at, end, &raw))) {
		if (raw.type == TYPE_TIME_STAMP)
			event.time_ns = (event.time_ns >> STAMP_BITS << STAMP_BITS) | raw.delta_ns;
		else
			event.time_ns += raw.delta_ns;
		if (raw.type <= TYPE_DATA_MAX)
			take_event(raw.data, raw.size, &event, take, data);
	}
}
