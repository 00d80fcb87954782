// SPDX-License-Identifier: GPL-2.0-only
/* Messages as the kernel sends them, through socket pairs in place of its own sockets. */
#include "proc/monitor.c" /* the layouts of messages are its own */
#include "unit.h"

static struct monitor from;
static struct monitor_events events;
static int kernel[MONITOR_SOURCES];

static int open_all(void **state)
{
	(void)state;
	events = (struct monitor_events){ 0 };
	for (unsigned int i = 0; i < MONITOR_SOURCES; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
			return -1;
		kernel[i] = ends[0];
		from.fd[i] = ends[1];
	}
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	monitor_close(&from);
	foreach (fd, kernel)
		close(*fd);
	return 0;
}

static void send_from(enum monitor_source source, const void *message, size_t size)
{
	assert_int_equal(send(kernel[source], message, size, 0), size);
	monitor_read(&from, &events);
}

static void send_process(uint32_t what, int32_t tid)
{
	struct process_message message = { .what = what, .id = { 1, 1, 1, 1 } };

	message.id[what == EVENT_FORK ? 2 : 0] = tid;
	send_from(MONITOR_PROCESSES, &message, sizeof(message));
}

TEST(each_thread_of_an_event_is_kept_once_and_too_many_are_everything, open_all, close_all)
{
	send_process(EVENT_ACK, 10);
	send_from(MONITOR_PROCESSES, "short", 5);
	assert_int_equal(events.count, 0);
	send_process(EVENT_FORK, 11);
	send_process(EVENT_EXEC, 12);
	send_process(EVENT_USER, 11);
	send_process(EVENT_NAME, 13);
	assert_int_equal(events.count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(events.tid[i], 11 + i);
	for (int i = 3; i < MONITOR_THREADS_MAX; i++)
		send_process(EVENT_FORK, 11 + i);
	assert_false(events.everything);
	send_process(EVENT_FORK, 1);
	assert_true(events.everything && !events.interrupts);
}

TEST(a_bound_driver_or_a_new_link_are_interrupts_and_a_cpu_is_everything, open_all, close_all)
{
	struct netlink_header link = { .size = sizeof(link), .type = MESSAGE_NEW_LINK + 1 };
	struct monitor_events all = { 0 };

	send_from(MONITOR_LINKS, &link, sizeof(link));
	assert_false(events.interrupts);
	link.type = MESSAGE_NEW_LINK;
	send_from(MONITOR_LINKS, &link, sizeof(link));
	assert_true(events.interrupts);
	events.interrupts = false;
	send_from(MONITOR_DEVICES, "bind@/devices/x", 15);
	assert_true(events.interrupts && !events.everything);
	send_from(MONITOR_DEVICES, "offline@/devices/system/cpu/cpu1", 32);
	assert_true(events.everything);
	monitor_events_add(&all, &events);
	assert_true(all.everything && all.interrupts);
}

UNIT_TESTS(NULL, NULL)
