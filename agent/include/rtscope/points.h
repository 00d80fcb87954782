/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measurement points for your own program, for C11 and C++17, on Linux.
 *
 *	static struct rtscope_point *loop, *daq;
 *
 *	loop = rtscope_point_add(NULL, "MAINLOOP", 2700000, "main loop, of 2.7 ms");
 *	daq = rtscope_point_add(loop, "DAQ", 0, "get all data");
 *
 *	uint64_t begun_ns = rtscope_begin(daq);
 *	get_all_data();
 *	rtscope_end(daq, begun_ns);
 *
 * and, while it runs: rtscope points PID. Its cost: docs/how-to/points.md.
 *
 * rtscope_begin() and rtscope_end() take no lock and make no system call but
 * the clock's, which the vDSO answers, and gettid() for a sample over its budget. Any number of threads, and signal
 * handlers, may be in one point at once: two counters are added to atomically,
 * and nothing has to fit together, so nobody ever waits for anybody, and a
 * thread that is killed in the middle leaves one sample's half behind and no
 * more. A counter for each thread would spare threads that share a point the
 * fight for a cache line, and cost every program the memory and the look-up.
 *
 * The figures are in a memfd, which the reader finds among the process's file
 * descriptors: it ends with the process, has no name that could go stale, is
 * found across namespaces and by nobody who may not look into the process. It
 * is sealed against shrinking, so that a reader can trust its mapping. A child
 * of fork() gets a page of its own at the same place. Where the linker cannot
 * give a program and its plugins one copy of what follows, each has its own
 * page, and the reader shows them all.
 */
#ifndef RTSCOPE_POINTS_H
#define RTSCOPE_POINTS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if !defined(CLOCK_MONOTONIC) || !defined(MAP_ANONYMOUS)
#error "rtscope/points.h wants more than strict C: compile with -std=gnu11, or -D_DEFAULT_SOURCE"
#endif
#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#error "rtscope/points.h wants a CPU that counts 64 bits atomically"
#endif

/* The layout that a program and its reader share. Whatever changes it changes the version. */
#define RTSCOPE_POINTS_MAGIC   "rtscope"
#define RTSCOPE_POINTS_VERSION 1U
#define RTSCOPE_POINTS_NAME    "rtscope-points" /* of the memfd */
#define RTSCOPE_POINTS_MAX     128U
#define RTSCOPE_NAME_SIZE      48U
#define RTSCOPE_TEXT_SIZE      120U
#define RTSCOPE_NO_BUDGET      UINT64_MAX
#define RTSCOPE_NO_PARENT      UINT32_MAX

/*
 * Exact to 1 ns below 64 ns; above, every power of two is cut into 32 buckets, so that none is
 * wider than 1/32 (3.1 %) of what it holds. The last one ends at 2^63: none is for overflow.
 */
#define RTSCOPE_SUB_BITS  5U
#define RTSCOPE_SUB_COUNT (1U << RTSCOPE_SUB_BITS)
#define RTSCOPE_BUCKETS	  ((62U - RTSCOPE_SUB_BITS) * RTSCOPE_SUB_COUNT + 2U * RTSCOPE_SUB_COUNT)

/* All zero when there is no sample. The number of samples is that of all buckets. */
struct rtscope_figures {
	uint64_t sum_ns;
	uint64_t last_ns;
	uint64_t max_ns;
	uint64_t min_inverted; /* ~min: grows as max does */
	uint64_t over_budget;
	uint64_t late_end_ns; /* of the last sample over the budget: when it ended, */
	uint64_t late_ns;     /* its length */
	uint64_t late_tid;    /* and its thread */
	uint64_t bucket[RTSCOPE_BUCKETS];
};

enum rtscope_state { /* bits; a point counts while it is just on */
		     RTSCOPE_ON = 1,
		     RTSCOPE_PAUSED = 2, /* as all points of the page are */
};

struct rtscope_point {
	uint32_t state;
	uint32_t bank; /* which of the figures is in use; a reset clears the other first */
	uint64_t budget_ns;
	uint32_t parent; /* index of an earlier point */
	char name[RTSCOPE_NAME_SIZE];
	char text[RTSCOPE_TEXT_SIZE];
	struct rtscope_figures figures[2] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct rtscope_points_page {
	char magic[8];
	uint32_t version;
	uint32_t pid; /* as the process itself knows it */
	uint32_t count;
	uint32_t paused;
	uint32_t refused; /* points that were asked for and could not be had */
	struct rtscope_point point[RTSCOPE_POINTS_MAX]; /* the file ends after the last in use */
};

/* A process's own side. */
struct rtscope_points {
	pthread_mutex_t lock; /* of adding points only */
	struct rtscope_points_page *page;
	int fd;
	dev_t device;
	ino_t inode;
	char error[160];
};

extern struct rtscope_points rtscope_points_v1;
__attribute__((weak)) struct rtscope_points rtscope_points_v1 = {
	PTHREAD_MUTEX_INITIALIZER, NULL, -1, 0, 0, { 0 },
};

/* Stands for a point that could not be had. */
extern struct rtscope_point rtscope_point_off_v1;
__attribute__((weak)) struct rtscope_point rtscope_point_off_v1;

static inline uint64_t rtscope_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Bucket of @ns, which must be below 2^63. */
static inline unsigned int rtscope_bucket(uint64_t ns)
{
	unsigned int shift;

	if (ns < 2U * RTSCOPE_SUB_COUNT)
		return (unsigned int)ns;
	shift = 63U - RTSCOPE_SUB_BITS - (unsigned int)__builtin_clzll(ns);
	return (shift << RTSCOPE_SUB_BITS) + (unsigned int)(ns >> shift);
}

static inline void rtscope_raise(uint64_t *most, uint64_t value)
{
	uint64_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);

	while (value > seen && !__atomic_compare_exchange_n(most, &seen, value, 1, __ATOMIC_RELAXED,
							    __ATOMIC_RELAXED))
		;
}

/* Note a sample over its budget for rtscope watch; the end comes last: it announces the others. */
static inline void rtscope_note_late(struct rtscope_figures *figures, uint64_t ns)
{
	__atomic_store_n(&figures->late_ns, ns, __ATOMIC_RELAXED);
	__atomic_store_n(&figures->late_tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
	__atomic_store_n(&figures->late_end_ns, rtscope_now_ns(), __ATOMIC_RELEASE);
	__atomic_fetch_add(&figures->over_budget, 1, __ATOMIC_RELEASE);
}

/* One sample of @ns. The bucket, which is the count, comes last: what it counts is all there. */
static inline void rtscope_sample(struct rtscope_point *point, uint64_t ns)
{
	uint32_t bank = __atomic_load_n(&point->bank, __ATOMIC_ACQUIRE) & 1U;
	struct rtscope_figures *figures = &point->figures[bank];

	if (ns > (uint64_t)INT64_MAX)
		ns = 0;
	rtscope_raise(&figures->max_ns, ns);
	rtscope_raise(&figures->min_inverted, ~ns);
	__atomic_store_n(&figures->last_ns, ns, __ATOMIC_RELAXED);
	if (ns > point->budget_ns)
		rtscope_note_late(figures, ns);
	__atomic_fetch_add(&figures->sum_ns, ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&figures->bucket[rtscope_bucket(ns)], 1, __ATOMIC_RELEASE);
}

/* Enter @point. Returns what rtscope_end() wants: the time, or 0 while the point is off. */
static inline uint64_t rtscope_begin(const struct rtscope_point *point)
{
	return __atomic_load_n(&point->state, __ATOMIC_RELAXED) == RTSCOPE_ON ? rtscope_now_ns() :
										0;
}

/* Leave @point. A point that was switched meanwhile counts as it was when it was entered. */
static inline void rtscope_end(struct rtscope_point *point, uint64_t begun_ns)
{
	if (begun_ns)
		rtscope_sample(point, rtscope_now_ns() - begun_ns);
}

/*
 * Forget @point's samples. One that ends meanwhile, before the next reset, is
 * forgotten or whole.
 */
static inline void rtscope_point_reset(struct rtscope_point *point)
{
	uint32_t next = ~__atomic_load_n(&point->bank, __ATOMIC_RELAXED) & 1U;

	memset(&point->figures[next], 0, sizeof(point->figures[next]));
	__atomic_store_n(&point->bank, next, __ATOMIC_RELEASE);
}

static inline void rtscope_switch(struct rtscope_point *point, uint32_t bit, int on)
{
	if (on)
		__atomic_fetch_or(&point->state, bit, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&point->state, ~bit, __ATOMIC_SEQ_CST);
}

/* Switch one point. It counts while it is on, as it is at first, and all are not paused. */
static inline void rtscope_point_enable(struct rtscope_point *point, int on)
{
	if (point != &rtscope_point_off_v1)
		rtscope_switch(point, RTSCOPE_ON, on);
}

/* The switch of all points of @page, those to come included; leaves their own as they are. */
static inline void rtscope_page_pause(struct rtscope_points_page *page, int paused)
{
	__atomic_store_n(&page->paused, paused ? 1U : 0U, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0;
	     i < __atomic_load_n(&page->count, __ATOMIC_SEQ_CST) && i < RTSCOPE_POINTS_MAX; i++)
		rtscope_switch(&page->point[i], RTSCOPE_PAUSED, paused);
}

/* Pause or resume all points of this program, once it has one. */
static inline void rtscope_points_pause(int paused)
{
	if (rtscope_points_v1.page)
		rtscope_page_pause(rtscope_points_v1.page, paused);
}

/* Why a point could not be had, as a sentence; NULL when all could. */
static inline const char *rtscope_points_error(void)
{
	return rtscope_points_v1.error[0] ? rtscope_points_v1.error : NULL;
}

static inline size_t rtscope_points_size(uint32_t count)
{
	return offsetof(struct rtscope_points_page, point) + count * sizeof(struct rtscope_point);
}

static inline int rtscope_points_seal(int fd, size_t size)
{
	const int add_seals = 1033, seal_shrink = 2; /* F_ADD_SEALS, F_SEAL_SHRINK */

	return fchmod(fd, 0600) || ftruncate(fd, (off_t)size) || fcntl(fd, add_seals, seal_shrink);
}

/* A new page of @count points, not mapped yet. Its file descriptor, or -1 with errno. */
static inline int rtscope_points_file(uint32_t count)
{
	const unsigned int cloexec = 1, allow_sealing = 2, noexec = 8; /* MFD_... */
	int fd = (int)syscall(SYS_memfd_create, RTSCOPE_POINTS_NAME, cloexec | noexec), error;

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = (int)syscall(SYS_memfd_create, RTSCOPE_POINTS_NAME, cloexec | allow_sealing);
	if (fd >= 0 && rtscope_points_seal(fd, rtscope_points_size(count))) {
		error = errno;
		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

static inline void *rtscope_points_map(void *place, int fd)
{
	return mmap(place, sizeof(struct rtscope_points_page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
}

static inline void rtscope_points_remember(int fd)
{
	struct stat status;

	rtscope_points_v1.fd = fd;
	if (!fstat(fd, &status)) {
		rtscope_points_v1.device = status.st_dev;
		rtscope_points_v1.inode = status.st_ino;
	}
}

static inline void rtscope_points_lock(void)
{
	pthread_mutex_lock(&rtscope_points_v1.lock);
}

static inline void rtscope_points_unlock(void)
{
	pthread_mutex_unlock(&rtscope_points_v1.lock);
}

/* The points of @from without their samples. */
static inline void rtscope_points_copy(struct rtscope_points_page *to,
				       const struct rtscope_points_page *from)
{
	memcpy(to, from, offsetof(struct rtscope_points_page, point));
	to->pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < to->count; i++) {
		memcpy(&to->point[i], &from->point[i], offsetof(struct rtscope_point, figures));
		to->point[i].bank = 0;
	}
}

/* In a child: the same points in the same place, in a page of its own; all off if it gets none. */
static inline void rtscope_points_forked(void)
{
	struct rtscope_points_page *page = rtscope_points_v1.page;
	int parents_fd = rtscope_points_v1.fd;
	int fd = rtscope_points_file(page->count);
	void *fresh = fd < 0 ? MAP_FAILED : rtscope_points_map(NULL, fd);
	struct stat status;

	if (fresh != MAP_FAILED) {
		rtscope_points_copy((struct rtscope_points_page *)fresh, page);
		munmap(fresh, sizeof(*page));
	}
	if (fresh == MAP_FAILED || rtscope_points_map(page, fd) == MAP_FAILED)
		mmap(page, sizeof(*page), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (!fstat(parents_fd, &status) && status.st_dev == rtscope_points_v1.device &&
	    status.st_ino == rtscope_points_v1.inode)
		close(parents_fd);
	rtscope_points_remember(fd);
	rtscope_points_unlock();
}

static inline struct rtscope_points_page *rtscope_points_create(void)
{
	int fd = rtscope_points_file(0);
	void *place = fd < 0 ? MAP_FAILED : rtscope_points_map(NULL, fd);
	struct rtscope_points_page *page = (struct rtscope_points_page *)place;

	if (place == MAP_FAILED)
		goto failed;
	errno = pthread_atfork(rtscope_points_lock, rtscope_points_unlock, rtscope_points_forked);
	if (errno)
		goto failed;
	rtscope_points_remember(fd);
	memcpy(page->magic, RTSCOPE_POINTS_MAGIC, sizeof(page->magic));
	page->version = RTSCOPE_POINTS_VERSION;
	page->pid = (uint32_t)getpid();
	return page;
failed:
	snprintf(rtscope_points_v1.error, sizeof(rtscope_points_v1.error),
		 "no measurement points: cannot make their page of memory: %s", strerror(errno));
	if (place != MAP_FAILED)
		munmap(place, sizeof(*page));
	if (fd >= 0)
		close(fd);
	return NULL;
}

static inline struct rtscope_point *rtscope_point_refuse(const char *name, const char *why)
{
	snprintf(rtscope_points_v1.error, sizeof(rtscope_points_v1.error),
		 "no measurement point '%.60s': %s", name, why);
	__atomic_fetch_add(&rtscope_points_v1.page->refused, 1, __ATOMIC_RELAXED);
	return &rtscope_point_off_v1;
}

static inline struct rtscope_point *rtscope_point_make(const struct rtscope_point *parent,
						       const char *name, uint64_t budget_ns,
						       const char *text)
{
	struct rtscope_points_page *page = rtscope_points_v1.page;
	uint32_t count = page->count;
	struct rtscope_point *point = &page->point[count];

	for (uint32_t i = 0; i < count; i++) {
		if (!strcmp(page->point[i].name, name))
			return &page->point[i];
	}
	if (!*name || strlen(name) >= RTSCOPE_NAME_SIZE)
		return rtscope_point_refuse(name, "a name has 1 to 47 bytes");
	if (count == RTSCOPE_POINTS_MAX)
		return rtscope_point_refuse(name, "a program has room for 128");
	if (ftruncate(rtscope_points_v1.fd, (off_t)rtscope_points_size(count + 1)))
		return rtscope_point_refuse(name, strerror(errno));
	memset(point, 0, sizeof(*point)); /* and no page is first touched while measuring */
	memcpy(point->name, name, strlen(name));
	snprintf(point->text, sizeof(point->text), "%s", text ? text : "");
	point->budget_ns = budget_ns ? budget_ns : RTSCOPE_NO_BUDGET;
	point->parent = RTSCOPE_NO_PARENT;
	if (parent >= page->point && parent < point)
		point->parent = (uint32_t)(parent - page->point);
	point->state = RTSCOPE_ON;
	__atomic_store_n(&page->count, count + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&page->paused, __ATOMIC_SEQ_CST))
		rtscope_switch(point, RTSCOPE_PAUSED, 1);
	return point;
}

/*
 * A point of this program: the one that has this @name, or a new one. @parent, or NULL, is the
 * point that it is a part of, @budget_ns how long it may take (0: no budget), @text what it
 * measures. Never NULL: where no point can be had, one that is always off, and
 * rtscope_points_error() returns the reason. It makes system calls: add points before the loop
 * begins.
 */
static inline struct rtscope_point *rtscope_point_add(const struct rtscope_point *parent,
						      const char *name, uint64_t budget_ns,
						      const char *text)
{
	struct rtscope_point *point = &rtscope_point_off_v1;

	rtscope_points_lock();
	if (!rtscope_points_v1.page)
		rtscope_points_v1.page = rtscope_points_create();
	if (rtscope_points_v1.page)
		point = rtscope_point_make(parent, name, budget_ns, text);
	rtscope_points_unlock();
	return point;
}

#ifdef __cplusplus
/* Is in a point until the block ends, whichever way. */
class rtscope_scope
{
      public:
	explicit rtscope_scope(struct rtscope_point *entered)
	    : point(entered), begun_ns(rtscope_begin(entered))
	{
	}
	~rtscope_scope()
	{
		rtscope_end(point, begun_ns);
	}
	rtscope_scope(const rtscope_scope &) = delete;
	rtscope_scope &operator=(const rtscope_scope &) = delete;

      private:
	struct rtscope_point *point;
	uint64_t begun_ns;
};
#endif

#endif
