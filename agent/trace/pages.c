// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page begins with the time of its first event (64 bits) and the field "commit", whose lowest
 * bits are the number of bytes of events; a bit above them marks that events were lost before the
 * page (kernel/trace/ring_buffer.c). A page has no time of its end: it ends before the next begins.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "base/json.h"
#include "proc/file.h"
#include "trace/pages.h"

#define BEFORE_NS   (500 * NSEC_PER_USEC)
#define AFTER_NS    (100 * NSEC_PER_USEC)
#define EVENTS_LOST (1U << 31)
#define HELD_MAX    (512 * 1024) /* bytes of a CPU that are held, and so in a window */
#define READ_MAX    4096	 /* pages at once: the kernel may write faster than this reads */

/*
 * The last pages of a CPU that were read, oldest first. They are held because a sample may have
 * begun before another one was copied.
 */
struct raw_cpu {
	unsigned int number;
	int fd;
	uint64_t complete_from_ns; /* every event from then on is held, or still in the ring */
	unsigned int count;
	uint8_t *held;
};

static struct raw_cpu *raw;
static unsigned int raw_count, held_max;
static size_t page_size, commit_size;
static size_t copied, copied_max; /* bytes of all windows; as many as the rings have */
static uint8_t *page;		  /* that is being read */
static trace_page_fn *on_page;
static void *on_page_data;

static int open_cpu(const struct trace_instance *instance, unsigned int number, uint64_t now_ns)
{
	struct raw_cpu *cpu = &raw[raw_count];
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", number);
	*cpu = (struct raw_cpu){
		.number = number,
		.fd = openat(instance->folder, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		.complete_from_ns = now_ns,
	};
	if (cpu->fd < 0)
		return -1;
	raw_count++;
	return 0;
}

int trace_pages_open(const struct trace_instance *instance, uint64_t now_ns)
{
	int folder = openat(instance->folder, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = folder >= 0 ? fdopendir(folder) : NULL;
	const struct dirent *entry;
	unsigned int number;
	size_t bytes;

	page_size = instance->page_size;
	commit_size = instance->commit_size;
	bytes = instance->ring_kb * 1024UL < HELD_MAX ? instance->ring_kb * 1024UL : HELD_MAX;
	held_max = bytes < 2 * page_size ? 2 : (unsigned int)(bytes / page_size);
	raw = calloc(CPUS_MAX, sizeof(*raw));
	page = malloc(page_size);
	if (!directory || !raw || !page) {
		if (directory)
			closedir(directory);
		return -1;
	}
	while ((entry = readdir(directory)) && raw_count < CPUS_MAX) {
		if (sscanf(entry->d_name, "cpu%u", &number) == 1 &&
		    open_cpu(instance, number, now_ns))
			break;
	}
	closedir(directory);
	copied_max = raw_count * instance->ring_kb * 1024UL;
	if (raw_count && !entry)
		return 0;
	errno = raw_count ? ENOMEM : ENOENT;
	return -1;
}

void trace_pages_close(void)
{
	for (unsigned int i = 0; i < raw_count; i++) {
		close(raw[i].fd);
		free(raw[i].held);
	}
	raw_count = 0;
	free(raw);
	free(page);
	raw = NULL;
	page = NULL;
}

static uint64_t page_time_ns(const uint8_t *data)
{
	uint64_t time_ns;

	memcpy(&time_ns, data, sizeof(time_ns));
	return time_ns;
}

static bool page_follows_loss(const uint8_t *data)
{
	uint64_t commit = 0;
	uint32_t word;

	if (commit_size == sizeof(commit)) {
		memcpy(&commit, data + sizeof(uint64_t), sizeof(commit));
	} else {
		memcpy(&word, data + sizeof(uint64_t), sizeof(word));
		commit = word;
	}
	return commit & EVENTS_LOST;
}

static uint64_t window_from_ns(const struct trace_window *window)
{
	return window->due_ns > BEFORE_NS ? window->due_ns - BEFORE_NS : 0;
}

static uint64_t window_to_ns(const struct trace_window *window)
{
	return window->due_ns + window->latency_ns + AFTER_NS;
}

static uint8_t *held_page(const struct raw_cpu *cpu, unsigned int index)
{
	return cpu->held + index * page_size;
}

/* Half of them: to move the rest for each page would take long. */
static void drop_oldest(struct raw_cpu *cpu)
{
	unsigned int dropped = (cpu->count + 1) / 2;

	cpu->count -= dropped;
	memmove(cpu->held, held_page(cpu, dropped), cpu->count * page_size);
	cpu->complete_from_ns = cpu->count ? page_time_ns(cpu->held) : clock_now_ns();
}

/* The place of the next page; NULL without memory. A CPU that is never online takes none. */
static uint8_t *place_for_page(struct raw_cpu *cpu)
{
	if (!cpu->held)
		cpu->held = malloc(held_max * page_size);
	if (cpu->held && cpu->count == held_max)
		drop_oldest(cpu);
	return cpu->held ? held_page(cpu, cpu->count) : NULL;
}

/* Read what the ring has, oldest first. */
static void read_cpu(struct raw_cpu *cpu)
{
	for (unsigned int i = 0; i < READ_MAX; i++) {
		ssize_t size = read(cpu->fd, page, page_size);
		bool follows_loss;
		uint8_t *data;

		if (size < (ssize_t)(sizeof(uint64_t) + commit_size))
			return;
		memset(page + size, 0, page_size - (size_t)size);
		follows_loss = page_follows_loss(page);
		if (follows_loss)
			cpu->count = 0;
		data = place_for_page(cpu);
		if (!data || follows_loss)
			cpu->complete_from_ns = data ? page_time_ns(page) : clock_now_ns();
		if (data) {
			memcpy(data, page, page_size);
			cpu->count++;
		}
		if (on_page)
			on_page(page, cpu->number, follows_loss, on_page_data);
	}
}

static uint8_t *window_memory(size_t size)
{
	uint8_t *memory = size && copied + size <= copied_max ? malloc(size) : NULL;

	if (memory)
		copied += size;
	return memory;
}

/* A page lasts until the next one begins. */
static void copy_part(const struct raw_cpu *cpu, const struct trace_window *window,
		      struct trace_part *part)
{
	unsigned int first = 0, end = 0;

	while (end < cpu->count && page_time_ns(held_page(cpu, end)) <= window_to_ns(window))
		end++;
	while (first + 1 < end && page_time_ns(held_page(cpu, first + 1)) <= window_from_ns(window))
		first++;
	*part = (struct trace_part){
		.cpu = cpu->number,
		.complete = cpu->complete_from_ns <= window->due_ns,
		.size = (end - first) * page_size,
		.data = window_memory((end - first) * page_size),
	};
	if (part->data) {
		memcpy(part->data, held_page(cpu, first), part->size);
	} else if (part->size) {
		part->size = 0;
		part->complete = false;
	}
}

void trace_pages_observe(trace_page_fn *observe, void *data)
{
	on_page = observe;
	on_page_data = data;
}

void trace_pages_read(void)
{
	for (unsigned int i = 0; i < raw_count; i++)
		read_cpu(&raw[i]);
}

void trace_pages_copy(struct trace_window *const *window, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		window[i]->part = calloc(raw_count, sizeof(*window[i]->part));
		if (!window[i]->part)
			continue;
		window[i]->part_count = raw_count;
		for (unsigned int cpu = 0; cpu < raw_count; cpu++)
			copy_part(&raw[cpu], window[i], &window[i]->part[cpu]);
	}
}

void trace_window_free(struct trace_window *window)
{
	for (unsigned int i = 0; i < window->part_count; i++) {
		copied -= window->part[i].size;
		free(window->part[i].data);
	}
	free(window->part);
	window->part = NULL;
	window->part_count = 0;
}

void trace_window_write(const struct trace_window *window, struct json *json)
{
	json_begin(json, "trace-window");
	json_u64(json, "thread", window->thread);
	if (window->tid)
		json_i64(json, "tid", window->tid);
	json_cpu(json, window->cpu);
	json_u64(json, "due_ns", window->due_ns);
	json_u64(json, "latency_ns", window->latency_ns);
	json_array_begin(json, "parts");
	for (unsigned int i = 0; i < window->part_count; i++) {
		const struct trace_part *part = &window->part[i];

		json_object_begin(json, NULL);
		json_u64(json, "cpu", part->cpu);
		json_bool(json, "complete", part->complete);
		json_base64(json, "pages", part->data, part->size);
		json_object_end(json);
	}
	json_array_end(json);
	json_end(json);
}
