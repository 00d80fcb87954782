// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only program of a machine on which the module rtdaq is tried with what it
 * should refuse, and with files that are shared, forked, killed and closed in the
 * midst. It writes "@ what: result" for each.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rtdaq/rtdaq.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_module.h"
#include "guest_port.h"

#define SIZE (11 * 1024 * RTDAQ_SAMPLE_BYTES)
#define MSEC 1000000ULL
#define SEC  1000000000ULL

static const char *const bad_parameters[] = {
	"period_us=99", "period_us=10000001", "channels=65", "channels=0", "samples=1000",
	"samples=0",	"samples=1048576",    "mb_s=0",	     NULL,
};

static void *pages(void)
{
	return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *map(int fd)
{
	return mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
}

static struct rtdaq_setup good(__u32 transfer, void *buffer)
{
	return (struct rtdaq_setup){
		.period_ns = 2 * MSEC,
		.transfer = transfer,
		.buffer = transfer == RTDAQ_MAPPED ? 0 : (unsigned long)buffer,
		.channels = 10,
		.samples = 1024,
	};
}

static int set_up(int fd, struct rtdaq_setup setup)
{
	return ioctl(fd, RTDAQ_SETUP, &setup) ? errno : 0;
}

static int start_at(int fd, __u64 at)
{
	return ioctl(fd, RTDAQ_START, &at) ? errno : 0;
}

static int start(int fd)
{
	return start_at(fd, now_ns() + MSEC);
}

static int arm_and_wait(int fd, unsigned long long timeout_ns)
{
	struct rtdaq_wait wait = { .timeout_ns = timeout_ns };

	return ioctl(fd, RTDAQ_ARM_WAIT, &wait) ? errno : 0;
}

/* One that has events, in its own pages unless told. */
static int running(__u32 transfer)
{
	int fd = open("/dev/rtdaq", O_RDWR | O_CLOEXEC);

	if (set_up(fd, good(transfer, pages())) || start(fd))
		printf("@ failed: no running file: %m\n");
	return fd;
}

/* Interrupts' threads. */
static int threads(int expected)
{
	return tasks_named("-rtdaq", expected);
}

static void try_setups(void)
{
	struct rtdaq_setup bad[11];
	int count = 0, fd = open("/dev/rtdaq", O_RDWR);
	void *buffer = pages();

	for (size_t i = 0; i < COUNT(bad); i++)
		bad[i] = good(RTDAQ_SCATTER, buffer);
	bad[0].period_ns = 99999;
	bad[1].period_ns = 10 * SEC + 1;
	bad[2].sweep_ns = bad[2].period_ns;
	bad[3].channels = 65;
	bad[4].samples = 513;
	bad[5].samples = 131072;
	bad[6].mb_s = 100001;
	bad[7].transfer = 3;
	bad[8].interrupts = 2;
	bad[9].unused = 1;
	bad[10].buffer += 1;
	for (size_t i = 0; i < COUNT(bad); i++)
		count += set_up(fd, bad[i]) == EINVAL;
	printf("@ setups: %d of %zu refused\n", count, COUNT(bad));
	printf("@ no buffer: %s\n", strerror(set_up(fd, good(RTDAQ_COPY, NULL))));
	printf("@ no pages: %s\n", strerror(set_up(fd, good(RTDAQ_SCATTER, (void *)0x10000))));
	printf("@ memory: %s\n", refused(ioctl(fd, RTDAQ_SETUP, 8) && errno == EFAULT));
	printf("@ before: %s\n", strerror(arm_and_wait(fd, MSEC)));
	printf("@ request: %s\n", refused(ioctl(fd, 1) && errno == EINVAL));
	printf("@ set up: %d\n", set_up(fd, good(RTDAQ_SCATTER, buffer)));
	printf("@ twice: %s\n", strerror(set_up(fd, good(RTDAQ_SCATTER, buffer))));
	printf("@ map: %s\n", refused(map(fd) == MAP_FAILED));
	printf("@ no start: %s\n", strerror(arm_and_wait(fd, MSEC)));
	printf("@ start in two hours: %s\n", strerror(start_at(fd, now_ns() + 7200 * SEC)));
	printf("@ start: %d\n", start(fd));
	printf("@ start twice: %s\n", strerror(start(fd)));
	close(fd);
	munmap(buffer, SIZE);
	printf("@ refused: threads %d\n", threads(0));
}

/* A page that can be read and not written: the module cannot return the result of a set-up. */
static void try_fault(void)
{
	struct rtdaq_setup *setup = pages();
	int fd = open("/dev/rtdaq", O_RDWR);
	void *buffer = pages();

	*setup = good(RTDAQ_SCATTER, buffer);
	mprotect(setup, SIZE, PROT_READ);
	printf("@ fault: %s, threads %d\n",
	       refused(ioctl(fd, RTDAQ_SETUP, setup) && errno == EFAULT), threads(0));
	printf("@ after fault: %s\n", strerror(arm_and_wait(fd, MSEC)));
	printf("@ set up after fault: %d\n", set_up(fd, good(RTDAQ_COPY, buffer)));
	printf("@ event after fault: %s\n", strerror(start(fd) ?: arm_and_wait(fd, SEC)));
	close(fd);
	munmap(buffer, SIZE);
	munmap(setup, SIZE);
}

/* An event a period since the start of the clock would be thousands. */
static void try_past(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct rtdaq_counts counts = { 0 };
		int fd = open("/dev/rtdaq", O_RDWR), result;
		unsigned long long begun_ns, most;
		void *buffer = pages();

		set_up(fd, good(RTDAQ_SCATTER, buffer));
		begun_ns = now_ns();
		result = start_at(fd, i < 2 ? i : begun_ns - 1) ?: arm_and_wait(fd, 10 * SEC);
		ioctl(fd, RTDAQ_COUNTS, &counts);
		most = (now_ns() - begun_ns) / (2 * MSEC) + 1;
		printf("@ past %u: %d, %s\n", i, result,
		       counts.events && counts.events <= most ? "no event before" :
								"events before");
		close(fd);
		munmap(buffer, SIZE);
	}
}

static void try_limit(void)
{
	const struct rlimit none = { 0, 0 };
	int fd = open("/dev/rtdaq", O_RDWR), status;
	pid_t child = fork();

	if (!child) {
		setrlimit(RLIMIT_MEMLOCK, &none);
		if (setresuid(1000, 1000, 1000))
			_exit(1);
		_exit(set_up(fd, good(RTDAQ_SCATTER, pages())) == ENOMEM ? 0 : 1);
	}
	waitpid(child, &status, 0);
	printf("@ locked memory: %s\n", status ? "not limited" : "limited");
	close(fd);
}

static int right(const unsigned char *data, unsigned long long event)
{
	int blocks = 0;

	for (unsigned int at = 0; at < SIZE; at += RTDAQ_BLOCK)
		blocks += *(const __u64 *)(data + at) == RTDAQ_STAMP(event, at / RTDAQ_BLOCK);
	return blocks;
}

static void try_transfers(void)
{
	for (__u32 transfer = RTDAQ_COPY; transfer <= RTDAQ_SCATTER; transfer++) {
		struct rtdaq_wait wait = { .timeout_ns = SEC };
		int fd = open("/dev/rtdaq", O_RDWR), result;
		unsigned char *data = pages();
		struct rtdaq_counts counts;

		set_up(fd, good(transfer, data));
		if (transfer == RTDAQ_MAPPED)
			data = map(fd);
		start(fd);
		result = ioctl(fd, RTDAQ_ARM_WAIT, &wait);
		ioctl(fd, RTDAQ_COUNTS, &counts);
		printf("@ transfer %u: %d, %d blocks, copied %llu\n", transfer, result,
		       right(data, wait.event), (unsigned long long)counts.copied_bytes);
		close(fd);
		munmap(data, SIZE);
	}
	printf("@ transferred: threads %d\n", threads(0));
}

static void try_nine(void)
{
	int fd[RTDAQ_FILES_MAX], ninth = open("/dev/rtdaq", O_RDWR);

	for (int i = 0; i < RTDAQ_FILES_MAX; i++)
		fd[i] = running(RTDAQ_SCATTER);
	printf("@ eight: threads %d\n", threads(RTDAQ_FILES_MAX));
	printf("@ nine: %s\n", strerror(set_up(ninth, good(RTDAQ_SCATTER, pages()))));
	printf("@ unload: %s\n", refused(module_unload("rtdaq") == EWOULDBLOCK));
	close(fd[0]);
	printf("@ in its place: %d\n", set_up(ninth, good(RTDAQ_SCATTER, pages())));
	for (int i = 1; i < RTDAQ_FILES_MAX; i++)
		close(fd[i]);
	close(ninth);
	printf("@ none: threads %d\n", threads(0));
}

static void *wait_long(void *fd)
{
	struct rtdaq_wait wait = { .timeout_ns = 5 * SEC };
	long result;

	do {
		result = ioctl((int)(long)fd, RTDAQ_WAIT, &wait) ? errno : 0;
	} while (result == EBUSY);
	return (void *)result;
}

/* Two that read one file, and a file that is closed while somebody waits. */
static void try_waits(void)
{
	int fd = running(RTDAQ_SCATTER);
	bool busy = false;
	pthread_t waiting;
	void *result;

	pthread_create(&waiting, NULL, wait_long, (void *)(long)fd);
	for (int i = 0; i < LOOKS && !busy; i++) {
		usleep(LOOK_US);
		busy = arm_and_wait(fd, MSEC) == EBUSY;
	}
	printf("@ two: %s\n", refused(busy));
	close(fd);
	printf("@ closed: threads %d\n", threads(1));
	pthread_join(waiting, &result);
	printf("@ waited: %s\n", strerror((int)(long)result));
	printf("@ after it: threads %d\n", threads(0));
}

static void try_fork(void)
{
	int fd = running(RTDAQ_SCATTER), status;
	pid_t child = fork();

	if (!child)
		for (;;)
			arm_and_wait(fd, SEC);
	close(fd);
	usleep(LOOK_US);
	printf("@ forked: threads %d\n", threads(1));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("@ killed: threads %d\n", threads(0));
}

static void *hammer(void *fd)
{
	__u32 step = 0;

	for (int i = 0; i < 200; i++) {
		arm_and_wait((int)(long)fd, 3 * MSEC);
		ioctl((int)(long)fd, RTDAQ_ARM, &step);
	}
	return NULL;
}

static void try_loaded(void)
{
	try_setups();
	try_fault();
	try_past();
	try_limit();
	try_transfers();
	try_nine();
	try_waits();
	try_fork();
	in_four_threads(hammer, running(RTDAQ_COPY));
	printf("@ together: threads %d\n", threads(0));
}

int main(void)
{
	module_try("rtdaq", bad_parameters, "period_us=2000 channels=4", try_loaded);
}
