// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine on which the module rtloop is tried with what it
 * should refuse, and with files that are shared, forked, killed and closed in the
 * midst. It writes "@ what: result" for each.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <rtloop/rtloop.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

static const struct rtloop_setup good = {
	.method = RTLOOP_ABSOLUTE,
	.priority = 50,
	.cpu = 0,
	.period_ns = 1000000,
	.slack_ns = 50000,
	.poll_ns = 20000,
};

static const char *const bad_parameters[] = {
	"method=sometimes", "period_us=99", "slack_us=10001", "poll_us=8001",
	"priority=100",	    "cpu=31",	    "cpu=-2",	      NULL,
};

static int start(int fd, struct rtloop_setup setup)
{
	return ioctl(fd, RTLOOP_START, &setup) ? errno : 0;
}

static const struct rtloop_page *map(int fd)
{
	return mmap(NULL, sizeof(struct rtloop_page), PROT_READ, MAP_SHARED, fd, 0);
}

static unsigned long edges(const struct rtloop_page *page)
{
	return __atomic_load_n(&page->edges, __ATOMIC_ACQUIRE);
}

/* Whether it does in ten seconds what takes it some milliseconds where nobody else is busy. */
static int loops(const struct rtloop_page *page)
{
	unsigned long before = edges(page);

	for (int i = 0; i < LOOKS && edges(page) < before + 5; i++)
		usleep(LOOK_US);
	return edges(page) >= before + 5;
}

static int stands(const struct rtloop_page *page)
{
	unsigned long before = edges(page);

	usleep(LOOK_US);
	return edges(page) == before;
}

static int threads(int expected)
{
	return tasks_named("rtloop/", expected);
}

static void try_setups(void)
{
	struct rtloop_setup bad[10];
	int count = 0, fd = open("/dev/rtloop", O_RDWR);

	for (size_t i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].method = RTLOOP_METHODS;
	bad[1].reserved = 1;
	bad[2].period_ns = 99999;
	bad[3].period_ns = 1000000001;
	bad[4].slack_ns = 1000001;
	bad[5].poll_ns = 800001;
	bad[6].priority = 100;
	bad[7].method = RTLOOP_TIMER;
	bad[8].cpu = 31;
	bad[9].start_ns = -1;
	for (size_t i = 0; i < COUNT(bad); i++)
		count += start(fd, bad[i]) == EINVAL;
	printf("@ setups: %d of %zu refused\n", count, COUNT(bad));
	printf("@ memory: %s\n", refused(ioctl(fd, RTLOOP_START, 8) && errno == EFAULT));
	printf("@ request: %s\n", refused(ioctl(fd, 1) && errno == ENOTTY));
	close(fd);
}

/* A file of the device with its page, and a setup of the method that starts it. */
struct loop {
	int fd;
	const struct rtloop_page *page;
	struct rtloop_setup setup;
};

static struct loop open_loop(unsigned int method)
{
	struct loop loop = { .fd = open("/dev/rtloop", O_RDWR), .setup = good };

	loop.page = map(loop.fd);
	loop.setup.method = method;
	if (method == RTLOOP_TIMER || method == RTLOOP_DEADLINE)
		loop.setup.priority = 0;
	return loop;
}

static void unmap(struct loop *loop)
{
	munmap((void *)loop->page, sizeof(*loop->page));
}

static void try_methods(void)
{
	for (unsigned int method = 0; method < RTLOOP_METHODS; method++) {
		struct loop loop = open_loop(method);
		int began = !start(loop.fd, loop.setup) && loops(loop.page);
		int twice = start(loop.fd, loop.setup) == EBUSY, ended;

		ioctl(loop.fd, RTLOOP_STOP);
		ended = stands(loop.page) && !ioctl(loop.fd, RTLOOP_STOP);
		began &= !start(loop.fd, loop.setup) && loops(loop.page);
		close(loop.fd);
		unmap(&loop);
		printf("@ method %u: loops %d, once %d, ends %d, threads %d\n", method, began,
		       twice, ended, threads(0));
	}
}

/* As many polls as periods since the start of the clock would take all of the CPU. */
static void try_past(void)
{
	for (unsigned int method = 0; method < RTLOOP_METHODS; method++) {
		struct loop loop = open_loop(method);
		unsigned long before = now_ns(), most;
		int began;

		loop.setup.start_ns = 1;
		loop.setup.poll_ns = 300000;
		began = !start(loop.fd, loop.setup) && loops(loop.page);
		ioctl(loop.fd, RTLOOP_STOP);
		most = (now_ns() - before) / loop.setup.period_ns + 1;
		printf("@ past %u: loops %d, %s\n", method, began,
		       edges(loop.page) + loop.page->missed <= most ? "no period before" :
								      "periods before");
		close(loop.fd);
		unmap(&loop);
	}
}

static void try_two(void)
{
	struct loop one = open_loop(good.method), other = open_loop(good.method);

	start(one.fd, good);
	start(other.fd, good);
	printf("@ two: loop %d %d, threads %d\n", loops(one.page), loops(other.page), threads(2));
	close(other.fd);
	unmap(&other);
	printf("@ one of two: loops %d, threads %d\n", loops(one.page), threads(1));
	printf("@ unload: %s\n", refused(module_unload("rtloop") == EWOULDBLOCK));
	close(one.fd);
	printf("@ mapped: loops %d, threads %d\n", loops(one.page), threads(1));
	unmap(&one);
	printf("@ unmapped: threads %d\n", threads(0));
}

static void try_fork(void)
{
	int fd = open("/dev/rtloop", O_RDWR), status;
	pid_t child;

	start(fd, good);
	child = fork();
	if (!child)
		for (;;)
			pause();
	close(fd);
	printf("@ forked: threads %d\n", threads(1));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("@ killed: threads %d\n", threads(0));
}

static void *toggle(void *fd)
{
	for (int i = 0; i < 200; i++) {
		start((int)(long)fd, good);
		ioctl((int)(long)fd, RTLOOP_STOP);
	}
	return NULL;
}

static void try_loaded(void)
{
	try_setups();
	try_methods();
	try_past();
	try_two();
	try_fork();
	in_four_threads(toggle, open("/dev/rtloop", O_RDWR));
	printf("@ together: threads %d\n", threads(0));
}

int main(void)
{
	module_try("rtloop", bad_parameters, "method=deadline period_us=2000", try_loaded);
}
