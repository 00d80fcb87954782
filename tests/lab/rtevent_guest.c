// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module rtevent is tried with what it should refuse, and with files that are
 * shared, forked, killed, and closed in the midst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"
#include "rtevent/rtevent.h"

#define DEVICE	"/dev/rtevent"
#define SHARED	400 /* events that four readers share */
#define HOUR_NS RTEVENT_INTERVAL_MAX_NS

static const struct rtevent_setup good = {
	.interval_ns = 500000,
	.data_ns = 100000,
	.seed = 7,
	.cpu = 0,
	.priority = 60,
	.eventfd = -1,
};

static const char *const bad_parameters[] = {
	"interval_us=99", "interval_us=4000000000", "data_us=1389", "priority=100", "cpu=31", NULL,
};

static int open_device(int flags)
{
	return open(DEVICE, O_RDONLY | O_CLOEXEC | flags);
}

static int start(int fd, struct rtevent_setup setup)
{
	return ioctl(fd, RTEVENT_START, &setup) ? errno : 0;
}

static const struct rtevent_map *map(int fd)
{
	return mmap(NULL, sizeof(struct rtevent_map), PROT_READ, MAP_SHARED, fd, 0);
}

static void unmap(const struct rtevent_map *map)
{
	munmap((void *)map, sizeof(*map));
}

static bool goes_on(const struct rtevent_map *map)
{
	uint32_t before = __atomic_load_n(&map->handled, __ATOMIC_ACQUIRE), now = before;

	for (int i = 0; i < LOOKS && now - before < 10; i++) {
		usleep(LOOK_US);
		now = __atomic_load_n(&map->handled, __ATOMIC_ACQUIRE);
	}
	return now - before >= 10;
}

/* Interrupts, each with a thread of its own. */
static int lines(int expected)
{
	return tasks_named("-rtevent", expected);
}

static void try_defaults(void)
{
	struct rtevent_setup setup;
	int fd = open_device(0);

	ioctl(fd, RTEVENT_DEFAULTS, &setup);
	close(fd);
	printf("@ defaults: every %llu, data %llu, seed %llu, cpu %d, priority %u, eventfd %d\n",
	       (unsigned long long)setup.interval_ns, (unsigned long long)setup.data_ns,
	       (unsigned long long)setup.seed, setup.cpu, setup.priority, setup.eventfd);
}

static void try_setups(void)
{
	struct rtevent_event event;
	struct rtevent_setup bad[7];
	int fd = open_device(0);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	size_t count = 0;

	for (size_t i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].interval_ns = RTEVENT_INTERVAL_MIN_NS - 1;
	bad[1].interval_ns = RTEVENT_INTERVAL_MAX_NS + 1;
	bad[2].data_ns = good.interval_ns / 2;
	bad[3].priority = 100;
	bad[4].cpu = 31;
	bad[5].start_ns = UINT64_MAX;
	bad[6].reserved = 1;
	for (size_t i = 0; i < COUNT(bad); i++)
		count += start(fd, bad[i]) == EINVAL;
	printf("@ setups: %zu of %zu refused\n", count, COUNT(bad));
	bad[0] = good;
	bad[0].eventfd = fd; /* which is none */
	printf("@ no eventfd: %s, lines %d\n", refused(start(fd, bad[0]) == EINVAL), lines(0));
	printf("@ memory: %s\n", refused(ioctl(fd, RTEVENT_START, 8) && errno == EFAULT));
	printf("@ request: %s\n", refused(ioctl(fd, 1) && errno == ENOTTY));
	printf("@ unstarted: read %s, wait %s, poll %s\n",
	       refused(read(fd, &event, sizeof(event)) < 0 && errno == EINVAL),
	       refused(ioctl(fd, RTEVENT_WAIT, &event) && errno == EINVAL),
	       refused(poll(&polled, 1, 0) == 1 && polled.revents == POLLERR));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	bad[0] = good;
	bad[0].interval_ns = HOUR_NS;
	printf("@ good after bad: %d\n", start(fd, bad[0]));
	printf("@ twice: %s\n", refused(start(fd, good) == EBUSY));
	printf("@ small: %s\n",
	       refused(read(fd, &event, sizeof(event) - 1) < 0 && errno == EINVAL));
	printf("@ none: %s\n", refused(read(fd, &event, sizeof(event)) < 0 && errno == EAGAIN));
	close(fd);
}

static void try_writing(void)
{
	int fd = open_device(0);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const struct rtevent_map *mapped = map(fd);

	printf("@ writing: open %s, map %s, protect %s\n",
	       refused(open(DEVICE, O_RDWR) < 0 && errno == EACCES),
	       refused(memory == MAP_FAILED && errno == EACCES),
	       refused(mprotect((void *)mapped, 4096, PROT_READ | PROT_WRITE) && errno == EACCES));
	printf("@ beyond: %s\n",
	       refused(mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED));
	unmap(mapped);
	close(fd);
}

/* Who is later than what is kept has lost the first of it, and knows. */
static void try_late(void)
{
	struct rtevent_event event[RTEVENT_SLOTS];
	struct rtevent_setup fast = good;
	int fd = open_device(O_NONBLOCK);
	const struct rtevent_map *mapped = map(fd);
	bool in_order = true;
	ssize_t size;

	fast.interval_ns = RTEVENT_INTERVAL_MIN_NS;
	fast.data_ns = 0;
	start(fd, fast);
	while (__atomic_load_n(&mapped->handled, __ATOMIC_ACQUIRE) < RTEVENT_SLOTS + 50)
		usleep(1000);
	size = read(fd, event, sizeof(event));
	for (size_t i = 1; i < (size_t)size / sizeof(event[0]); i++)
		in_order &= event[i].sequence > event[i - 1].sequence &&
			    event[i].due_ns <= event[i].interrupt_ns &&
			    event[i].interrupt_ns <= event[i].thread_ns &&
			    event[i].thread_ns <= event[i].wake_ns;
	printf("@ late: %s, first %s, in order %d\n", size > 0 ? "has some" : "has none",
	       event[0].sequence >= 50 ? "lost" : "there", in_order);
	unmap(mapped);
	close(fd);
}

static unsigned int taken[SHARED];

static void *read_shared(void *fd)
{
	struct rtevent_event event = { 0 };

	while (event.sequence < SHARED &&
	       read((int)(long)fd, &event, sizeof(event)) == sizeof(event)) {
		if (event.sequence < SHARED)
			__atomic_fetch_add(&taken[event.sequence], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void try_readers(void)
{
	int fd = open_device(0), once = 0;

	start(fd, good);
	in_four_threads(read_shared, fd);
	for (size_t i = 0; i < SHARED; i++)
		once += taken[i] == 1;
	printf("@ four readers: %d of %d once, lines %d\n", once, SHARED, lines(0));
}

static void try_files(void)
{
	int one = open_device(0), other = open_device(0);
	const struct rtevent_map *mapped = map(one), *of_other = map(other);

	start(one, good);
	start(other, good);
	printf("@ two: go on %d %d, lines %d\n", goes_on(mapped), goes_on(of_other), lines(2));
	close(other);
	unmap(of_other);
	printf("@ one of two: goes on %d, lines %d\n", goes_on(mapped), lines(1));
	printf("@ unload in use: %s\n", refused(module_unload("rtevent") == EWOULDBLOCK));
	close(one);
	printf("@ mapped: goes on %d, lines %d\n", goes_on(mapped), lines(1));
	unmap(mapped);
	printf("@ unmapped: lines %d\n", lines(0));
}

static void try_eventfd(void)
{
	struct rtevent_setup setup = good;
	int fd = open_device(0);
	const struct rtevent_map *mapped = map(fd);
	uint64_t counted = 0, value;

	setup.eventfd = eventfd(0, EFD_CLOEXEC);
	start(fd, setup);
	while (counted < 100 && read(setup.eventfd, &value, sizeof(value)) == sizeof(value))
		counted += value;
	printf("@ eventfd: %s\n", counted + mapped->merged <= mapped->handled ? "counts" : "wrong");
	unmap(mapped);
	close(fd);
	close(setup.eventfd);
	printf("@ eventfd closed: lines %d\n", lines(0));
}

static void *wait_long(void *fd)
{
	struct rtevent_event event;

	read((int)(long)fd, &event, sizeof(event));
	return NULL;
}

/* A child of two threads: one waits in read(), the other closes the file meanwhile, and stays. */
static void be_child(int fd, int told)
{
	pthread_t waiting;
	char word;

	pthread_create(&waiting, NULL, wait_long, (void *)(long)fd);
	usleep(LOOK_US);
	close(fd);
	read(told, &word, 1);
	_exit(0);
}

/* What a file has to end with: a child that is killed by @number, or that ends where told to. */
static void try_child(const char *what, int number)
{
	int fd = open_device(0), status = 0, ends[2];
	struct rtevent_setup later = good;
	pid_t child;

	later.interval_ns = HOUR_NS;
	start(fd, later);
	pipe(ends);
	child = fork();
	if (!child)
		be_child(fd, ends[0]);
	close(fd);
	usleep(4 * LOOK_US);
	printf("@ %s: lines %d\n", what, lines(1));
	if (number)
		kill(child, number);
	else
		write(ends[1], "", 1);
	waitpid(child, &status, 0);
	printf("@ %s, gone: signal %d, lines %d\n", what,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0, lines(0));
	close(ends[0]);
	close(ends[1]);
}

/* Started, signalled and closed again and again, with interrupts under way. */
static void try_often(void)
{
	struct rtevent_setup fast = good;

	fast.interval_ns = RTEVENT_INTERVAL_MIN_NS;
	fast.data_ns = 10000;
	signal(SIGIO, SIG_IGN);
	for (int i = 0; i < 50; i++) {
		int fd = open_device(O_NONBLOCK);

		fcntl(fd, F_SETOWN, getpid());
		fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
		start(fd, fast);
		usleep(i * 10);
		close(fd);
	}
	printf("@ often: lines %d\n", lines(0));
}

static void try_loaded(void)
{
	try_defaults();
	try_setups();
	try_writing();
	try_late();
	try_readers();
	try_files();
	try_eventfd();
	try_child("killed", SIGKILL);
	try_child("closed", 0);
	try_often();
}

int main(void)
{
	module_try("rtevent", bad_parameters,
		   "interval_us=2000 data_us=300 seed=5 cpu=0 priority=70", try_loaded);
}
