// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another process's measurement points, found and read from outside.
 *
 * Their pages are memfds among its file descriptors, opened through
 * /proc/PID/fd: the kernel asks whether we may look into the process, and no
 * path or namespace comes into it. A page that a child has inherited from its
 * parent names the parent, and is not the child's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/points_page.h"
#include "proc/status.h"
#include "proc/thread.h"

#define LINK_START "/memfd:" RTSCOPE_POINTS_NAME
#define READ_TRIES 3

bool points_alive(const struct points_target *target)
{
	struct thread thread;

	return thread_read_stat(target->directory, &thread) && !strchr("ZX", thread.state);
}

bool points_held(const struct points_target *target, const struct points_page *page)
{
	struct stat status;

	return !fstatat(target->directory, page->link, &status, 0) && status.st_ino == page->inode;
}

unsigned int points_count(const struct points_page *page)
{
	uint32_t count = __atomic_load_n(&page->memory->count, __ATOMIC_SEQ_CST);
	struct stat status;

	if (count > RTSCOPE_POINTS_MAX)
		count = RTSCOPE_POINTS_MAX;
	if (fstat(page->fd, &status))
		return 0;
	while (count && rtscope_points_size(count) > (uint64_t)status.st_size)
		count--;
	return count;
}

/* Whether @memory is a page of this layout; a sentence's end in @why where it is not. */
static bool page_fits(const struct rtscope_points_page *memory, char *why, size_t why_size)
{
	if (memcmp(memory->magic, RTSCOPE_POINTS_MAGIC, sizeof(memory->magic))) {
		snprintf(why, why_size, "has a file that is named as points are and holds none");
		return false;
	}
	if (memory->version == RTSCOPE_POINTS_VERSION)
		return true;
	snprintf(why, why_size,
		 "has points of layout %u and this agent reads layout %u: use the rtscope whose points.h it was built with",
		 memory->version, RTSCOPE_POINTS_VERSION);
	return false;
}

/*
 * Map the page behind page->link. Returns 1, 0 where it is not this process's
 * own (@own_pid), or -1 with a sentence's end in @why. Only what is sealed
 * against shrinking is mapped: a shorter file would kill its reader.
 */
static int page_open(int directory, struct points_page *page, uint64_t own_pid, bool writable,
		     char *why, size_t why_size)
{
	int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	void *memory = MAP_FAILED;
	struct stat status;
	int seals;

	page->fd = openat(directory, page->link, flags);
	if (page->fd < 0) {
		snprintf(why, why_size, "has points that cannot be opened: %s", strerror(errno));
		return -1;
	}
	seals = fcntl(page->fd, F_GET_SEALS);
	if (fstat(page->fd, &status) || seals < 0 || !(seals & F_SEAL_SHRINK) ||
	    (size_t)status.st_size < rtscope_points_size(0)) {
		snprintf(why, why_size,
			 "has a file that is named as points are and is no page of them");
		goto out;
	}
	page->inode = status.st_ino;
	memory = mmap(NULL, sizeof(*page->memory), PROT_READ | (writable ? PROT_WRITE : 0),
		      MAP_SHARED, page->fd, 0);
	if (memory == MAP_FAILED) {
		snprintf(why, why_size, "has points that cannot be mapped: %s", strerror(errno));
		goto out;
	}
	page->memory = memory;
	if (!page_fits(page->memory, why, why_size))
		goto out;
	if (page->memory->pid == own_pid)
		return 1;
	*why = 0;
out:
	if (memory != MAP_FAILED)
		munmap(memory, sizeof(*page->memory));
	close(page->fd);
	return *why ? -1 : 0;
}

/* Whether a file descriptor is but another one of a page that is open. */
static bool is_open(const struct points_target *target, const struct points_page *page)
{
	struct stat status;

	if (fstatat(target->directory, page->link, &status, 0))
		return false;
	for (unsigned int i = 0; i < target->count; i++) {
		if (target->page[i].inode == status.st_ino)
			return true;
	}
	return false;
}

/* Open every page among the file descriptors of @fds. */
static void open_pages(struct points_target *target, DIR *fds, uint64_t own_pid, bool writable,
		       char *error, size_t error_size)
{
	struct dirent *entry;

	while (target->count < POINTS_PAGES_MAX && (entry = readdir(fds))) {
		struct points_page page = { .fd = -1 };
		char file[sizeof(LINK_START)] = "", why[256] = "";
		int opened;

		if (readlinkat(dirfd(fds), entry->d_name, file, sizeof(file) - 1) < 0 ||
		    strcmp(file, LINK_START))
			continue;
		snprintf(page.link, sizeof(page.link), "fd/%.16s", entry->d_name);
		if (is_open(target, &page))
			continue;
		opened = page_open(target->directory, &page, own_pid, writable, why, sizeof(why));
		if (opened > 0)
			target->page[target->count++] = page;
		else if (opened < 0)
			snprintf(error, error_size, "%s %s", target->name, why);
	}
}

/* The number of the process in its innermost PID namespace. */
static uint64_t own_pid_of(const char *status, pid_t pid)
{
	uint64_t numbers[STATUS_NAMESPACES_MAX];
	unsigned int count = status_numbers(status, "NSpid", numbers, STATUS_NAMESPACES_MAX);

	return count ? numbers[count - 1] : (uint64_t)pid;
}

/* "process 12 (llrf)", with nothing in it that steers a terminal. */
static void name_target(struct points_target *target, pid_t pid, const char *status)
{
	char shown[32] = "?";

	status_copy(status, "Name", shown, sizeof(shown));
	for (char *c = shown; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	snprintf(target->name, sizeof(target->name), "process %d (%s)", (int)pid, shown);
}

int points_open(struct points_target *target, pid_t pid, bool writable, char *error,
		size_t error_size)
{
	uint64_t process = (uint64_t)pid, owner = 0;
	const char *status = NULL;
	char path[32];
	DIR *fds = NULL;
	int fd;

	*error = 0;
	*target = (struct points_target){ 0 };
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	target->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->directory >= 0)
		status = status_read(target->directory);
	if (!status) {
		snprintf(error, error_size, "there is no process %d here", (int)pid);
		goto out;
	}
	status_number(status, "Tgid", &process);
	if (process != (uint64_t)pid) {
		snprintf(error, error_size, "%d is a thread of process %" PRIu64 ": ask for that",
			 (int)pid, process);
		goto out;
	}
	name_target(target, pid, status);
	if (!points_alive(target)) {
		snprintf(error, error_size, "%s has ended", target->name);
		goto out;
	}
	fd = openat(target->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds = fd < 0 ? NULL : fdopendir(fd);
	if (!fds) {
		int reason = errno;

		status_number(status, "Uid", &owner);
		snprintf(error, error_size,
			 "cannot read the file descriptors of %s (%s): it belongs to user %" PRIu64
			 "%s",
			 target->name, strerror(reason), owner,
			 owner == geteuid() ? " and has privileges of its own; ask as root" :
					      "; ask as that user or as root");
		goto out;
	}
	open_pages(target, fds, own_pid_of(status, pid), writable, error, error_size);
	if (!target->count && !*error)
		snprintf(error, error_size,
			 "%s has no measurement points: it gets them by rtscope/points.h and rtscope_point_add()",
			 target->name);
out:
	if (fds)
		closedir(fds);
	if (!target->count && target->directory >= 0)
		close(target->directory);
	return target->count ? 0 : -1;
}

uint64_t point_bucket_width_ns(unsigned int index)
{
	return index < 2 * RTSCOPE_SUB_COUNT ? 1 : 1ULL << ((index >> RTSCOPE_SUB_BITS) - 1);
}

uint64_t point_bucket_lower_ns(unsigned int index)
{
	unsigned int shift;

	if (index < 2 * RTSCOPE_SUB_COUNT)
		return index;
	shift = (index >> RTSCOPE_SUB_BITS) - 1;
	return (uint64_t)(index - (shift << RTSCOPE_SUB_BITS)) << shift;
}

uint64_t point_tail_ns(const struct point_reading *reading, uint64_t above)
{
	unsigned int index = RTSCOPE_BUCKETS;
	uint64_t seen = 0, last_ns;

	while (index && seen <= above)
		seen += reading->bucket[--index];
	last_ns = point_bucket_lower_ns(index) + point_bucket_width_ns(index) - 1;
	return last_ns < reading->max_ns ? last_ns : reading->max_ns;
}

/*
 * One look at the figures in use. Buckets first: whatever they count is in the
 * other figures too, which may have a sample more. Returns whether no reset
 * came between.
 */
static bool read_figures(const struct rtscope_point *point, struct point_reading *reading,
			 uint64_t *sum_ns, bool *too_many)
{
	uint32_t bank = __atomic_load_n(&point->bank, __ATOMIC_ACQUIRE) & 1;
	const struct rtscope_figures *figures = &point->figures[bank];

	reading->count = 0;
	*too_many = false;
	for (unsigned int i = 0; i < RTSCOPE_BUCKETS; i++) {
		reading->bucket[i] = __atomic_load_n(&figures->bucket[i], __ATOMIC_ACQUIRE);
		*too_many |= reading->bucket[i] > INT64_MAX - reading->count;
		reading->count += reading->bucket[i];
	}
	*sum_ns = __atomic_load_n(&figures->sum_ns, __ATOMIC_RELAXED);
	reading->last_ns = __atomic_load_n(&figures->last_ns, __ATOMIC_RELAXED);
	reading->min_ns = ~__atomic_load_n(&figures->min_inverted, __ATOMIC_RELAXED);
	reading->max_ns = __atomic_load_n(&figures->max_ns, __ATOMIC_RELAXED);
	reading->over_budget = __atomic_load_n(&figures->over_budget, __ATOMIC_RELAXED);
	return (__atomic_load_n(&point->bank, __ATOMIC_ACQUIRE) & 1) == bank;
}

static double between(double low, double value, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* Why figures that were read cannot be; NULL where they can. */
static const char *impossible(const struct point_reading *reading)
{
	if (reading->parent < -1)
		return "it is said to be a part of what does not come before it";
	if (reading->budget_ns > INT64_MAX && reading->budget_ns != RTSCOPE_NO_BUDGET)
		return "its budget is longer than 292 years";
	if (!reading->count)
		return NULL;
	if (reading->min_ns > reading->max_ns || reading->max_ns > INT64_MAX)
		return "its shortest and longest times contradict each other";
	if (reading->last_ns > INT64_MAX || reading->over_budget > INT64_MAX)
		return "it has counts beyond 2^63";
	for (unsigned int i = 0; i < RTSCOPE_BUCKETS; i++) {
		if (reading->bucket[i] &&
		    (point_bucket_lower_ns(i) > reading->max_ns ||
		     point_bucket_lower_ns(i) + point_bucket_width_ns(i) - 1 < reading->min_ns))
			return "its histogram goes beyond its shortest or longest time";
	}
	return NULL;
}

const char *points_read(const struct points_page *page, unsigned int index,
			struct point_reading *reading)
{
	const struct rtscope_point *point = &page->memory->point[index];
	uint32_t parent = point->parent;
	uint64_t sum_ns;
	const char *why;
	bool too_many;

	memcpy(reading->name, point->name, sizeof(reading->name));
	memcpy(reading->text, point->text, sizeof(reading->text));
	reading->name[sizeof(reading->name) - 1] = 0;
	reading->text[sizeof(reading->text) - 1] = 0;
	reading->enabled = __atomic_load_n(&point->state, __ATOMIC_RELAXED) & RTSCOPE_ON;
	reading->budget_ns = point->budget_ns;
	reading->parent = parent < index ? (int)parent : parent == RTSCOPE_NO_PARENT ? -1 : -2;
	for (int tries = 0; tries < READ_TRIES; tries++) {
		if (read_figures(point, reading, &sum_ns, &too_many))
			break;
	}
	why = too_many ? "it has counts beyond 2^63" : impossible(reading);
	if (why) {
		reading->parent = -1;
		reading->budget_ns = RTSCOPE_NO_BUDGET;
		reading->count = 0;
		memset(reading->bucket, 0, sizeof(reading->bucket));
	}
	if (reading->over_budget > reading->count) /* by samples that are not counted yet */
		reading->over_budget = reading->count;
	if (reading->count)
		reading->mean_ns =
			between((double)reading->min_ns, (double)sum_ns / (double)reading->count,
				(double)reading->max_ns);
	return why;
}
