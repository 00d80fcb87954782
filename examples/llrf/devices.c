// SPDX-License-Identifier: GPL-2.0-only
/* The event receiver and the digitizer. Valid C11 and C++17. */
#include "devices.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rtdaq/rtdaq.h>
#include <rtevent/rtevent.h>
#include <rtscope/points.h>

#define RECEIVER	  "/dev/rtevent"
#define DIGITIZER	  "/dev/rtdaq"
#define FIDUCIALS_A_PULSE 3
#define DIGITIZING_NS	  17200ULL     /* 2048 samples at 119 MHz */
#define START_IN_NS	  100000000ULL /* setting up may take long under load */
#define HIGHEST_PRIORITY  99U
#define TIMEOUT_NS	  1000000000ULL

static int refuse(const char *device)
{
	const char *why = strerror(errno);

	if (errno == ENOENT)
		why = "no such device: load its module, which `make modules` builds";
	else if (errno == EINVAL)
		why = "the module refuses this rate; its line in dmesg says why";
	fprintf(stderr, "llrf: %s: %s\n", device, why);
	return -1;
}

static int start_receiver(struct devices *devices, uint64_t fiducial_ns, uint64_t start_ns,
			  unsigned int priority)
{
	struct rtevent_setup setup;

	memset(&setup, 0, sizeof(setup));
	setup.interval_ns = fiducial_ns;
	setup.start_ns = start_ns - fiducial_ns;
	setup.cpu = -1;
	setup.priority = priority;
	setup.eventfd = -1;
	devices->receiver = open(RECEIVER, O_RDONLY | O_CLOEXEC);
	if (devices->receiver < 0 || ioctl(devices->receiver, RTEVENT_START, &setup))
		return refuse(RECEIVER);
	return 0;
}

static int start_digitizer(struct devices *devices, unsigned int channels, uint64_t period_ns,
			   uint64_t start_ns, unsigned int priority)
{
	struct sched_param scheduling;
	struct rtdaq_setup setup;

	memset(&setup, 0, sizeof(setup));
	setup.period_ns = period_ns;
	setup.sweep_ns = 1; /* in step with the fiducials */
	setup.buffer = (uintptr_t)devices->samples;
	setup.transfer = RTDAQ_SCATTER;
	setup.interrupts = RTDAQ_PER_EVENT;
	setup.channels = channels;
	setup.samples = SAMPLES_A_CHANNEL;
	devices->digitizer = open(DIGITIZER, O_RDWR | O_CLOEXEC);
	if (devices->digitizer < 0 || ioctl(devices->digitizer, RTDAQ_SETUP, &setup))
		return refuse(DIGITIZER);
	devices->bytes = setup.bytes;
	memset(&scheduling, 0, sizeof(scheduling));
	scheduling.sched_priority = (int)priority;
	if (priority && sched_setscheduler((pid_t)setup.thread, SCHED_FIFO, &scheduling))
		perror("llrf: the digitizer's interrupt keeps its priority");
	if (ioctl(devices->digitizer, RTDAQ_START, &start_ns))
		return refuse(DIGITIZER);
	return 0;
}

int devices_start(struct devices *devices, int16_t *samples, unsigned int channels, double rate_hz,
		  unsigned int priority)
{
	uint64_t fiducial_ns = (uint64_t)(1e9 / rate_hz / FIDUCIALS_A_PULSE);
	uint64_t period_ns = FIDUCIALS_A_PULSE * fiducial_ns;
	uint64_t start_ns = rtscope_now_ns() + START_IN_NS + fiducial_ns;

	memset(devices, 0, sizeof(*devices));
	devices->samples = samples;
	if (priority)
		priority = priority < HIGHEST_PRIORITY ? priority + 1 : HIGHEST_PRIORITY;
	if (start_receiver(devices, fiducial_ns, start_ns, priority))
		return -1;
	return start_digitizer(devices, channels, period_ns, start_ns + DIGITIZING_NS, priority);
}

bool devices_trigger(struct devices *devices, uint64_t *due_ns)
{
	struct rtevent_event event;
	uint64_t pulse;

	do {
		if (ioctl(devices->receiver, RTEVENT_WAIT, &event))
			return false;
		devices->fiducial += event.sequence - (uint32_t)devices->fiducial;
		pulse = devices->fiducial / FIDUCIALS_A_PULSE;
	} while (devices->fiducial % FIDUCIALS_A_PULSE || pulse < devices->next_pulse);
	devices->lost_triggers += (long)(pulse - devices->next_pulse);
	devices->next_pulse = pulse + 1;
	*due_ns = event.due_ns;
	return true;
}

static void check_blocks(struct devices *devices, uint64_t event)
{
	for (uint32_t at = 0; at < devices->bytes; at += RTDAQ_BLOCK) {
		uint64_t stamp;

		memcpy(&stamp, (const char *)devices->samples + at, sizeof(stamp));
		devices->wrong_blocks += stamp != RTDAQ_STAMP(event, at / RTDAQ_BLOCK);
	}
}

/* The digitizer counts pulses from 1, so it calls this one devices->next_pulse. */
bool devices_acquire(struct devices *devices)
{
	struct rtdaq_wait wait;

	do { /* the card keeps pulses that nobody asked for in time */
		memset(&wait, 0, sizeof(wait));
		wait.timeout_ns = TIMEOUT_NS;
		if (ioctl(devices->digitizer, RTDAQ_ARM_WAIT, &wait)) {
			devices->lost_waveforms += errno == ETIMEDOUT;
			return errno == ETIMEDOUT;
		}
	} while (wait.event < devices->next_pulse);
	devices->lost_waveforms += (long)(wait.event - devices->next_pulse);
	devices->next_pulse = wait.event; /* triggers of the pulses between are of no use */
	check_blocks(devices, wait.event);
	return true;
}
