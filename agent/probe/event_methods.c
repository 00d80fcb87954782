// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notification methods. A method ends where the program can read the clock: right after the system
 * call that it waited in. If that call does not return the events, the program reads them then.
 *
 * The waiter on the mapped page sleeps until shortly before the next interrupt is due, which the
 * card publishes in the page, and then polls. It sees the interrupt handler's write before the
 * interrupt's thread runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/device.h"
#include "base/options.h"
#include "probe/event_methods.h"

#define LEAD_NS	     (100 * NSEC_PER_USEC)
#define WATCH_MAX_NS NSEC_PER_MSEC

static void got(struct receiver *receiver, ssize_t size)
{
	receiver->count = size > 0 ? (unsigned int)((size_t)size / sizeof(receiver->event[0])) : 0;
}

static void fetch(struct receiver *receiver)
{
	got(receiver, read(receiver->device, receiver->event, sizeof(receiver->event)));
}

static void read_wait(struct receiver *receiver)
{
	ssize_t size = read(receiver->device, receiver->event, sizeof(receiver->event));

	receiver->now_ns = clock_now_ns();
	got(receiver, size);
}

static void ioctl_wait(struct receiver *receiver)
{
	int result = ioctl(receiver->device, RTEVENT_WAIT, receiver->event);

	receiver->now_ns = clock_now_ns();
	receiver->count = !result;
}

static void poll_wait(struct receiver *receiver)
{
	struct pollfd device = { .fd = receiver->device, .events = POLLIN };

	poll(&device, 1, -1);
	receiver->now_ns = clock_now_ns();
	fetch(receiver);
}

static int epoll_open(struct receiver *receiver)
{
	struct epoll_event event = { .events = EPOLLIN };

	receiver->fd = epoll_create1(EPOLL_CLOEXEC);
	if (receiver->fd < 0)
		return -1;
	return epoll_ctl(receiver->fd, EPOLL_CTL_ADD, receiver->device, &event);
}

static void epoll_wait_once(struct receiver *receiver)
{
	struct epoll_event event;

	epoll_wait(receiver->fd, &event, 1, -1);
	receiver->now_ns = clock_now_ns();
	fetch(receiver);
}

static int eventfd_open(struct receiver *receiver)
{
	receiver->fd = eventfd(0, EFD_CLOEXEC);
	return receiver->fd < 0 ? -1 : 0;
}

static void eventfd_wait(struct receiver *receiver)
{
	uint64_t value;
	ssize_t size = read(receiver->fd, &value, sizeof(value));

	receiver->now_ns = clock_now_ns();
	receiver->count = 0;
	if (size == sizeof(value))
		fetch(receiver);
}

/* To the process, as drivers are used: threads that do not want it block it. */
static int signal_open(struct receiver *receiver)
{
	int flags = fcntl(receiver->device, F_GETFL);

	if (flags < 0 || fcntl(receiver->device, F_SETOWN, getpid()))
		return -1;
	return fcntl(receiver->device, F_SETFL, flags | O_ASYNC);
}

/* By system call: musl's sigwaitinfo() goes on waiting after a signal's handler. */
static void signal_wait(struct receiver *receiver)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, _NSIG / 8);
	receiver->now_ns = clock_now_ns();
	fetch(receiver);
}

static bool copy_slot(struct receiver *receiver)
{
	const struct rtevent_event *slot = &receiver->map->slot[receiver->watched % RTEVENT_SLOTS];

	if (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != receiver->watched)
		return false;
	receiver->event[0] = *slot;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == receiver->watched;
}

static bool is_raised(const struct receiver *receiver)
{
	return __atomic_load_n(&receiver->map->interrupts, __ATOMIC_ACQUIRE) != receiver->watched;
}

static void page_wait(struct receiver *receiver)
{
	const struct rtevent_map *map = receiver->map;

	receiver->count = 0;
	while (!is_raised(receiver)) {
		uint64_t due_ns = __atomic_load_n(&map->next_ns, __ATOMIC_ACQUIRE);
		uint64_t now_ns = clock_now_ns();

		if (is_raised(receiver))
			break; /* so it may already be the one after that which is due then */
		if (now_ns > due_ns + WATCH_MAX_NS)
			due_ns = now_ns + WATCH_MAX_NS + LEAD_NS; /* let others run */
		if (now_ns + LEAD_NS < due_ns && clock_sleep_until(due_ns - LEAD_NS))
			return;
	}
	receiver->now_ns = clock_now_ns();
	receiver->count = copy_slot(receiver);
	receiver->watched++;
	if (!receiver->count) /* late by all stored events: continue with the newest */
		receiver->watched = __atomic_load_n(&map->interrupts, __ATOMIC_ACQUIRE);
}

static int ring_open(struct receiver *receiver)
{
	return uring_open(&receiver->uring);
}

static void ring_wait(struct receiver *receiver)
{
	ssize_t size = uring_read(&receiver->uring, receiver->device, receiver->event,
				  sizeof(receiver->event));

	receiver->now_ns = clock_now_ns();
	got(receiver, size);
}

const struct notification_method notification_methods[] = {
	{ .open = signal_open },
	{ .open = signal_open, .wait = signal_wait },
	{ .blocks = true, .wait = read_wait },
	{ .blocks = true, .wait = ioctl_wait },
	{ .wait = poll_wait },
	{ .kernel_option = "EPOLL", .open = epoll_open, .wait = epoll_wait_once },
	{ .kernel_option = "EVENTFD", .open = eventfd_open, .wait = eventfd_wait },
	{ .wait = page_wait },
	{ .kernel_option = "IO_URING", .blocks = true, .open = ring_open, .wait = ring_wait },
};

const char *const notification_method_names[] = {
	"sigio", "sigwait", "read", "ioctl", "poll", "epoll", "eventfd", "page", "uring", NULL,
};

int receiver_open(struct receiver *receiver, const struct notification_method *method, char *error,
		  size_t error_size)
{
	void *map;

	receiver->method = method;
	receiver->fd = -1;
	receiver->device = device_open("rtevent", O_RDONLY | (method->blocks ? 0 : O_NONBLOCK),
				       error, error_size);
	if (receiver->device < 0)
		return -1;
	map = mmap(NULL, sizeof(*receiver->map), PROT_READ, MAP_SHARED | MAP_POPULATE,
		   receiver->device, 0);
	if (map == MAP_FAILED) {
		snprintf(error, error_size, "/dev/rtevent cannot be mapped: %s", strerror(errno));
		return -1;
	}
	receiver->map = map;
	if (!method->open || !method->open(receiver))
		return 0;
	return options_refuse(error, error_size, "via", "--via %s is not possible here: %s%s%s",
			      notification_method_names[method - notification_methods],
			      strerror(errno),
			      errno == ENOSYS ? "; this kernel was built without CONFIG_" : "",
			      errno == ENOSYS && method->kernel_option ? method->kernel_option :
									 "");
}

int receiver_start(struct receiver *receiver, struct rtevent_setup *setup)
{
	setup->eventfd = receiver->method->wait == eventfd_wait ? receiver->fd : -1;
	return ioctl(receiver->device, RTEVENT_START, setup);
}

void receiver_close(struct receiver *receiver)
{
	close(receiver->device);
	munmap((void *)receiver->map, sizeof(*receiver->map));
}
