// SPDX-License-Identifier: GPL-2.0-only
/* An open file of the module rtdaq. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/device.h"
#include "probe/digitizer.h"

#define TIMEOUT_PERIODS 2

/* It stays out of the load's processes, for the device writes to this one's. */
static void *new_buffer(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (data != MAP_FAILED)
		madvise(data, size, MADV_DONTFORK);
	return data;
}

static int request(const struct digitizer *digitizer, unsigned long what, void *with)
{
	return ioctl(digitizer->file, (int)what, with) ? errno : 0;
}

/* What the device takes for all of an event. */
static uint64_t transfer_ns(const struct rtdaq_setup *setup)
{
	return setup->bytes * 1000ULL / setup->mb_s;
}

static int set_up(struct digitizer *digitizer, struct rtdaq_setup *setup)
{
	size_t size = (setup->channels + 1) * (size_t)setup->samples * RTDAQ_SAMPLE_BYTES;
	int result;

	if (setup->transfer != RTDAQ_MAPPED) {
		digitizer->data = new_buffer(size);
		setup->buffer = (uintptr_t)digitizer->data;
	}
	if (digitizer->data == MAP_FAILED)
		return errno;
	result = request(digitizer, RTDAQ_SETUP, setup);
	if (result)
		return result;
	digitizer->bytes = setup->bytes;
	digitizer->steps = setup->steps;
	digitizer->thread = (pid_t)setup->thread;
	digitizer->timeout_ns = TIMEOUT_PERIODS * setup->period_ns + transfer_ns(setup);
	if (digitizer->data)
		return 0;
	digitizer->data = mmap(NULL, size, PROT_READ, MAP_SHARED, digitizer->file, 0);
	return digitizer->data == MAP_FAILED ? errno : 0;
}

int digitizer_open(struct digitizer *digitizer, struct rtdaq_setup setup, char *error,
		   size_t error_size)
{
	char said[200];
	int result;

	digitizer->file = device_open("rtdaq", O_RDWR, error, error_size);
	if (digitizer->file < 0)
		return -1;
	result = set_up(digitizer, &setup);
	if (!result)
		return 0;
	device_said("rtdaq", said, sizeof(said));
	snprintf(error, error_size, "the module rtdaq does not take this set-up: %s; %s",
		 strerror(result), said);
	return -1;
}

void digitizer_close(const struct digitizer *digitizer)
{
	close(digitizer->file);
}

/* By system call: musl's sched_setscheduler() only says that it would not do what it is asked. */
int digitizer_raise(const struct digitizer *digitizer, unsigned int priority)
{
	struct sched_param param = { .sched_priority = (int)priority };

	return syscall(SYS_sched_setscheduler, digitizer->thread, SCHED_FIFO, &param) ? errno : 0;
}

int digitizer_start(const struct digitizer *digitizer, uint64_t start_ns)
{
	return request(digitizer, RTDAQ_START, &start_ns);
}

/* An interrupt and what it is for. */
static int take_step(const struct digitizer *digitizer, uint32_t step, struct rtdaq_wait *wait)
{
	int result;

	wait->timeout_ns = digitizer->timeout_ns;
	wait->step = step;
	if (digitizer->atomic)
		return request(digitizer, RTDAQ_ARM_WAIT, wait);
	result = request(digitizer, RTDAQ_ARM, &step);
	return result ? result : request(digitizer, RTDAQ_WAIT, wait);
}

int digitizer_take(const struct digitizer *digitizer, struct rtdaq_wait *wait)
{
	int result = 0;

	for (uint32_t step = 0; step < digitizer->steps && !result; step++)
		result = take_step(digitizer, step, wait);
	return result;
}

void digitizer_await_idle(const struct digitizer *digitizer)
{
	struct rtdaq_wait wait = { .timeout_ns = digitizer->timeout_ns };

	request(digitizer, RTDAQ_WAIT, &wait);
}

unsigned int digitizer_errors(const struct digitizer *digitizer, uint64_t event)
{
	unsigned int errors = 0;

	for (uint32_t at = 0; at < digitizer->bytes; at += RTDAQ_BLOCK) {
		uint64_t stamp = *(const volatile uint64_t *)(digitizer->data + at);

		errors += stamp != RTDAQ_STAMP(event, at / RTDAQ_BLOCK);
	}
	return errors;
}

int digitizer_counts(const struct digitizer *digitizer, struct rtdaq_counts *counts)
{
	return request(digitizer, RTDAQ_COUNTS, counts);
}

uint64_t digitizer_thread_cpu_ns(const struct digitizer *digitizer)
{
	clockid_t clock;

	return clock_getcpuclockid(digitizer->thread, &clock) ? 0 : clock_read_ns(clock);
}
