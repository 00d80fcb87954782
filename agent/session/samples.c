// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of all samples. The measuring threads put them into rings; the housekeeping thread
 * formats them, and a thread of the outlet writes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "session/samples.h"
#include "session/signals.h"

/* Bytes that wait for the disk: in all, and more for each thread; a line has some 30. */
#define QUEUE	     (256 * 1024)
#define QUEUE_THREAD (64 * 1024)
#define AT_ONCE	     4096 /* samples of each thread: twice what comes at the shortest interval */

static FILE *file;
static bool failure_reported;
static struct outlet outlet;

int samples_open(const char *path, char *error, size_t error_size)
{
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		return options_refuse(error, error_size, "samples-file",
				      "cannot write --samples-file %s: %s", path, strerror(errno));
	}
	if (!outlet_open(&outlet, fd, QUEUE + QUEUE_THREAD))
		file = outlet_stream(&outlet);
	if (!file) {
		snprintf(error, error_size, "out of memory");
		return -1;
	}
	fputs("# thread\tcpu\ttime_ns\tlatency_ns\n", file);
	return 0;
}

static void drain_ring(const struct measuring *measuring, uint64_t start_ns)
{
	struct ring_sample sample;

	for (unsigned int i = 0; i < AT_ONCE && ring_pop(measuring->record.ring, &sample); i++)
		fprintf(file, "%u\t%d\t%llu\t%llu\n", measuring->index, measuring->role.cpu,
			(unsigned long long)(sample.time_ns - start_ns),
			(unsigned long long)sample.latency_ns);
}

static void report_failure(void)
{
	if (failure_reported)
		return;
	failure_reported = true;
	session_warn("samples-file-failed",
		     "the samples file could not be written to its end (disk full?); the histogram has every sample");
}

void samples_drain(const struct session *session)
{
	static unsigned int first;

	if (!file)
		return;
	for (unsigned int i = 0; i < session->threads; i++) {
		struct measuring *measuring = &session->measuring[(first + i) % session->threads];

		if (outlet_waiting(&outlet) > QUEUE + (size_t)session->threads * QUEUE_THREAD)
			break;
		if (!measuring->role.silent)
			drain_ring(measuring, session->start_ns);
	}
	first++;
	fflush(file);
	outlet_end_line(&outlet);
	if (outlet_failed(&outlet))
		report_failure();
}

static bool rings_empty(const struct session *session)
{
	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];

		if (!measuring->role.silent && !ring_is_empty(measuring->record.ring))
			return false;
	}
	return true;
}

bool samples_are_due(const struct session *session)
{
	if (!file)
		return false;
	for (unsigned int i = 0; i < session->threads; i++) {
		const struct measuring *measuring = &session->measuring[i];

		if (!measuring->role.silent && ring_is_filling(measuring->record.ring))
			return true;
	}
	return false;
}

static const struct session *closing;

static bool all_written(uint64_t until_ns)
{
	while (!outlet_failed(&outlet) && !rings_empty(closing)) {
		samples_drain(closing);
		if (!outlet_wait(&outlet, until_ns))
			return false;
	}
	return outlet_wait(&outlet, until_ns);
}

void samples_close(const struct session *session)
{
	uint64_t dropped = 0;
	bool written;
	char text[192];

	if (!file)
		return;
	closing = session;
	samples_drain(session);
	written = session_wait_for_reader(all_written);
	if (!written || outlet_failed(&outlet) || close(outlet.fd))
		report_failure();
	if (written)
		outlet_close(&outlet);
	for (unsigned int i = 0; i < session->threads; i++) {
		if (!session->measuring[i].role.silent)
			dropped += session->measuring[i].record.ring->dropped;
	}
	if (!dropped)
		return;
	snprintf(text, sizeof(text),
		 "the samples file lacks %llu of the samples, which came faster than they could be written; the histogram has them all",
		 (unsigned long long)dropped);
	session_warn("samples-file-dropped", text);
}

bool samples_are_wanted(void)
{
	return file;
}

void samples_follow(void)
{
	if (file)
		outlet_follow(&outlet);
}
