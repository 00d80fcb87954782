// SPDX-License-Identifier: GPL-2.0-only
/*
 * network: floods the loopback interface, and never another, with ICMP echo
 * requests as `ping -f` does: each is sent as soon as the last was answered,
 * so the stack's transmit, softirq and receive paths run without a pause.
 *
 * Where neither raw nor ping sockets are permitted, or the kernel does not
 * answer echo requests, UDP datagrams take the same way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/worker.h"

#define PAYLOAD_BYTES  56 /* ping's */
#define PACKETS_A_STEP 64
#define ANSWER_MS      500

/* Classic BPF as in linux/filter.h, which musl does not bring. */
struct instruction {
	uint16_t code;
	uint8_t jump_true, jump_false;
	uint32_t operand;
};

enum { LOAD_BYTE = 0x30, LOAD_HALF = 0x28, JUMP_IF_EQUAL = 0x15, RETURN = 0x06 };

struct echo {
	uint8_t type, code;
	uint16_t checksum, id, sequence;
	uint8_t payload[PAYLOAD_BYTES];
};

struct network_state {
	int sender, receiver; /* one and the same for ICMP */
	bool icmp;
	struct echo echo;
};

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static uint16_t internet_checksum(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < size; i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* Let through echo replies to this worker alone: raw sockets hear everybody's. */
static int filter_replies(int fd, uint16_t id)
{
	struct instruction code[] = {
		{ LOAD_BYTE, 0, 0, 20 }, /* type, after the IP header */
		{ JUMP_IF_EQUAL, 0, 3, 0 },   { LOAD_HALF, 0, 0, 24 }, { JUMP_IF_EQUAL, 0, 1, id },
		{ RETURN, 0, 0, UINT32_MAX }, { RETURN, 0, 0, 0 },
	};
	struct {
		unsigned short length;
		struct instruction *code;
	} program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int exchange(struct network_state *state)
{
	char answer[PAYLOAD_BYTES + 128];
	struct pollfd readable = { .fd = state->receiver, .events = POLLIN };

	if (state->icmp) {
		state->echo.sequence = htons((uint16_t)(ntohs(state->echo.sequence) + 1));
		state->echo.checksum = 0;
		state->echo.checksum = internet_checksum(&state->echo, sizeof(state->echo));
	}
	if (send(state->sender, &state->echo, sizeof(state->echo), 0) < 0)
		return -1;
	if (recv(state->receiver, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		return 0;
	errno = ETIMEDOUT; /* a busy machine answers later */
	if (poll(&readable, 1, ANSWER_MS) <= 0)
		return -1;
	return recv(state->receiver, answer, sizeof(answer), 0) > 0 ? 0 : -1;
}

static int open_icmp(struct worker *worker, struct network_state *state)
{
	struct sockaddr_in address = loopback();
	uint16_t id = (uint16_t)(getpid() & 0xffff);
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);

	if (fd >= 0) {
		if (filter_replies(fd, id) < 0)
			goto close;
	} else {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
	}
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		goto close;
	state->echo.type = 8;
	state->echo.id = htons(id);
	for (int i = 0; i < PAYLOAD_BYTES; i++)
		state->echo.payload[i] = (uint8_t)worker_random(worker);
	state->icmp = true;
	state->sender = state->receiver = fd;
	if (exchange(state) == 0)
		return 0;
close:
	close(fd);
	return -1;
}

static int open_udp(struct network_state *state)
{
	struct sockaddr_in address = loopback();
	socklen_t size = sizeof(address);

	state->icmp = false;
	state->receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	state->sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (state->receiver < 0 || state->sender < 0 ||
	    bind(state->receiver, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(state->receiver, (struct sockaddr *)&address, &size) < 0)
		return -1;
	return connect(state->sender, (struct sockaddr *)&address, sizeof(address)) < 0 ?
		       -1 :
		       exchange(state);
}

/* A board that has just started may have left the interface down. */
static void raise_interface(struct worker *worker)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && !(request.ifr_flags & IFF_UP)) {
		request.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &request) == 0)
			worker_warn(worker, "load-loopback",
				    "the loopback interface was down and has been brought up");
	}
	close(fd);
}

static int setup(struct worker *worker)
{
	struct network_state *state = worker_alloc(worker, sizeof(*state));

	if (!state)
		return -1;
	worker->state = state;
	raise_interface(worker);
	if (open_icmp(worker, state) == 0)
		return 0;
	if (open_udp(state) < 0)
		return worker_fail(worker,
				   "nothing can be sent to 127.0.0.1: %s; bring the loopback interface up with 'ip link set lo up'",
				   strerror(errno));
	worker_warn(worker, "load-degraded",
		    "no ICMP socket is permitted or answered here, so it floods UDP instead; run as root, or allow it with 'sysctl net.ipv4.ping_group_range=\"0 2147483647\"'");
	return 0;
}

static int step(struct worker *worker)
{
	for (int i = 0; i < PACKETS_A_STEP; i++) {
		if (exchange(worker->state) == 0)
			worker_count(worker, 0, 1);
		else if (errno != ETIMEDOUT && errno != ENOBUFS && errno != ECONNREFUSED)
			return worker_fail(worker, "127.0.0.1 cannot be reached any more: %s",
					   strerror(errno));
	}
	return 0;
}

const struct load load_network = {
	.name = "network",
	.help = "floods 127.0.0.1 with ICMP echo requests, or with UDP",
	.unit = { "packets" },
	.setup = setup,
	.step = step,
};
