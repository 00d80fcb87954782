// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process and hotplug monitor.
 *
 * It reads three netlink sockets. Each has a packet filter in the kernel, so that
 * events of no use here wake nobody:
 *
 *	process connector	a thread or program began, a thread changed name or user
 *	device events		a driver was bound to a device, a CPU came or went
 *	network links		one came up, which is when its driver requests interrupts
 *
 * The kernel does not report new interrupts. On a real-time kernel each handler has
 * a thread, which is reported; elsewhere drivers request interrupts at the other
 * two kinds of events. An interrupt requested at another moment, such as when a
 * serial port is opened, is found at the next event.
 *
 * The layouts are those of linux/netlink.h, connector.h, cn_proc.h, rtnetlink.h
 * and filter.h, which musl lacks.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proc/monitor.h"

#define PROTOCOL_ROUTE	   0
#define PROTOCOL_CONNECTOR 11
#define PROTOCOL_UEVENT	   15
#define GROUP_PROCESSES	   1
#define GROUP_KERNEL	   1
#define GROUP_LINKS	   1
#define MESSAGE_DONE	   3
#define MESSAGE_NEW_LINK   16
#define LISTEN		   1
#define ACK_LIMIT_MS	   1000
#define BUFFER_SIZE	   (1 << 20)
#define KTHREADD	   2 /* the process whose children the kernel's own threads are */

enum process_event {
	EVENT_ACK = 0,
	EVENT_FORK = 1,
	EVENT_EXEC = 2,
	EVENT_USER = 4,
	EVENT_NAME = 0x200,
};

struct netlink_address {
	uint16_t family;
	uint16_t unused;
	uint32_t port; /* 0: the kernel */
	uint32_t groups;
};

struct netlink_header {
	uint32_t size;
	uint16_t type;
	uint16_t flags;
	uint32_t sequence;
	uint32_t port;
};

struct connector_header {
	uint32_t index, value; /* 1, 1: processes */
	uint32_t sequence, answer;
	uint16_t size;
	uint16_t flags;
};

struct process_message {
	struct netlink_header netlink;
	struct connector_header connector;
	uint32_t what;
	uint32_t cpu;
	uint32_t time[2];
	union {
		uint32_t error; /* of an acknowledgement */
		int32_t id[4];	/* of a fork: parent, its process, child, its process */
	};
};

struct listen_message {
	struct netlink_header netlink;
	struct connector_header connector;
	uint32_t operation;
};

/* Device events are text; those of CPUs begin with "online@" and "offline@". */
union message {
	struct netlink_header netlink;
	struct process_message process;
	char text[8192];
};

_Static_assert(sizeof(struct process_message) == 68 && sizeof(struct listen_message) == 40,
	       "as the kernel's");

/* The classic packet filter, and the instructions that are used of it. */
struct filter_step {
	uint16_t code;
	uint8_t if_equal, if_not; /* steps to skip */
	uint32_t value;
};

struct filter {
	uint16_t count;
	const struct filter_step *step;
};

#define LOAD_WORD(offset)   { 0x20, 0, 0, offset } /* as big endian */
#define IF_EQUAL(value, to) { 0x15, to, 0, value }
#define TAKE		    { 0x06, 0, 0, UINT32_MAX }
#define DROP		    { 0x06, 0, 0, 0 }
#define FOUR(a, b, c, d)    ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static int refuse_all(struct monitor *from, char *error, size_t error_size, const char *text)
{
	snprintf(error, error_size, "%s (%s)", text, strerror(errno));
	monitor_close(from);
	return -1;
}

/* Open a socket for the messages to @group that pass @filter. Returns it, or -1 with errno. */
static int subscribe(int protocol, uint32_t group, const struct filter *filter)
{
	struct netlink_address address = { .family = AF_NETLINK, .groups = group };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	int size = BUFFER_SIZE, error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof(*filter)) &&
	    !bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Returns the size of a message from the kernel, 0 for another's, or -1 with errno. */
static ssize_t receive(int fd, union message *message)
{
	struct netlink_address sender = { 0 };
	struct iovec into = { message, sizeof(*message) };
	struct msghdr header = { .msg_name = &sender,
				 .msg_namelen = sizeof(sender),
				 .msg_iov = &into,
				 .msg_iovlen = 1 };
	ssize_t size = recvmsg(fd, &header, 0);

	return size > 0 && sender.port ? 0 : size;
}

/* Subscribe to process events and wait for the acknowledgement; -1 with errno, ENOMSG without one. */
static int ask_for_processes(int fd)
{
	const struct listen_message ask = {
		.netlink = { .size = sizeof(ask), .type = MESSAGE_DONE, .port = 0 },
		.connector = { .index = 1, .value = 1, .size = sizeof(ask.operation) },
		.operation = LISTEN,
	};
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	union message message;

	if (send(fd, &ask, sizeof(ask), 0) < 0)
		return -1;
	while (poll(&ready, 1, ACK_LIMIT_MS) > 0) {
		ssize_t size = receive(fd, &message);

		if (size < (ssize_t)sizeof(message.process) || message.process.what != EVENT_ACK)
			continue;
		errno = (int)message.process.error;
		return errno ? -1 : 0;
	}
	errno = ENOMSG;
	return -1;
}

static int open_processes(struct monitor *from, bool programs, char *error, size_t error_size)
{
	const struct filter_step of_kernel[] = {
		LOAD_WORD(offsetof(struct process_message, what)),
		IF_EQUAL(htonl(EVENT_ACK), 5),
		IF_EQUAL(htonl(EVENT_FORK), 1),
		DROP,
		LOAD_WORD(offsetof(struct process_message, id)),
		IF_EQUAL(htonl(KTHREADD), 1),
		DROP,
		TAKE,
	};
	const struct filter_step of_all[] = {
		LOAD_WORD(offsetof(struct process_message, what)),
		IF_EQUAL(htonl(EVENT_FORK), 5),
		IF_EQUAL(htonl(EVENT_EXEC), 4),
		IF_EQUAL(htonl(EVENT_USER), 3),
		IF_EQUAL(htonl(EVENT_NAME), 2),
		IF_EQUAL(htonl(EVENT_ACK), 1),
		DROP,
		TAKE,
	};
	const struct filter filter =
		programs ? (struct filter){ sizeof(of_all) / sizeof(*of_all), of_all } :
			   (struct filter){ sizeof(of_kernel) / sizeof(*of_kernel), of_kernel };
	int *fd = &from->fd[MONITOR_PROCESSES];

	*fd = subscribe(PROTOCOL_CONNECTOR, GROUP_PROCESSES, &filter);
	if (*fd >= 0 && !ask_for_processes(*fd))
		return 0;
	if (errno == EPERM)
		return refuse_all(from, error, error_size,
				  "monitoring new threads needs the capability CAP_NET_ADMIN: run as root");
	return refuse_all(from, error, error_size,
			  "the kernel does not report new threads: it lacks CONFIG_PROC_EVENTS, or this is a container; hold profiles on the machine itself, or use apply again when threads have come");
}

static int open_devices(struct monitor *from, char *error, size_t error_size)
{
	static const struct filter_step steps[] = {
		LOAD_WORD(0),
		IF_EQUAL(FOUR('b', 'i', 'n', 'd'), 3),
		IF_EQUAL(FOUR('o', 'n', 'l', 'i'), 2),
		IF_EQUAL(FOUR('o', 'f', 'f', 'l'), 1),
		DROP,
		TAKE,
	};
	static const struct filter filter = { sizeof(steps) / sizeof(*steps), steps };
	int *fd = &from->fd[MONITOR_DEVICES];

	*fd = subscribe(PROTOCOL_UEVENT, GROUP_KERNEL, &filter);
	if (*fd >= 0)
		return 0;
	return refuse_all(from, error, error_size, "the kernel does not report new devices");
}

/* A kernel without network has no links that could change. */
static int open_links(struct monitor *from, char *error, size_t error_size)
{
	static const struct filter_step steps[] = { TAKE };
	static const struct filter filter = { sizeof(steps) / sizeof(*steps), steps };
	int *fd = &from->fd[MONITOR_LINKS];

	*fd = subscribe(PROTOCOL_ROUTE, GROUP_LINKS, &filter);
	if (*fd >= 0 || errno == EPROTONOSUPPORT)
		return 0;
	return refuse_all(from, error, error_size, "the kernel does not report network links");
}

int monitor_open(struct monitor *from, enum monitored_threads threads, char *error,
		 size_t error_size)
{
	*from = (struct monitor){ { -1, -1, -1 } };
	if (threads != MONITOR_NO_THREADS &&
	    open_processes(from, threads == MONITOR_ALL_THREADS, error, error_size))
		return -1;
	if (open_devices(from, error, error_size))
		return -1;
	return open_links(from, error, error_size);
}

void monitor_close(struct monitor *from)
{
	for (unsigned int i = 0; i < MONITOR_SOURCES; i++) {
		if (from->fd[i] >= 0)
			close(from->fd[i]);
		from->fd[i] = -1;
	}
}

static void add_thread(struct monitor_events *events, int tid)
{
	for (unsigned int i = 0; i < events->count; i++) {
		if (events->tid[i] == tid)
			return;
	}
	if (events->count < MONITOR_THREADS_MAX)
		events->tid[events->count++] = tid;
	else
		events->everything = true;
}

void monitor_events_add(struct monitor_events *events, const struct monitor_events *more)
{
	events->everything |= more->everything;
	events->interrupts |= more->interrupts;
	for (unsigned int i = 0; i < more->count; i++)
		add_thread(events, more->tid[i]);
}

static void add_message(enum monitor_source source, const union message *message, size_t size,
			struct monitor_events *events)
{
	const struct process_message *process = &message->process;

	switch (source) {
	case MONITOR_PROCESSES:
		if (size >= sizeof(*process) && process->what != EVENT_ACK)
			add_thread(events, process->id[process->what == EVENT_FORK ? 2 : 0]);
		break;
	case MONITOR_DEVICES:
		if (size > 4 && !memcmp(message->text, "bind", 4))
			events->interrupts = true;
		else
			events->everything = true;
		break;
	default:
		events->interrupts |= size >= sizeof(message->netlink) &&
				      message->netlink.type == MESSAGE_NEW_LINK;
	}
}

static void read_source(const struct monitor *from, enum monitor_source source,
			struct monitor_events *events)
{
	union message message;
	ssize_t size;

	while ((size = receive(from->fd[source], &message)) >= 0 || errno == EINTR ||
	       errno == ENOBUFS) {
		if (size < 0 && errno == ENOBUFS)
			events->everything = true;
		else if (size > 0)
			add_message(source, &message, (size_t)size, events);
	}
}

void monitor_read(const struct monitor *from, struct monitor_events *events)
{
	for (unsigned int i = 0; i < MONITOR_SOURCES; i++) {
		if (from->fd[i] >= 0)
			read_source(from, i, events);
	}
}
