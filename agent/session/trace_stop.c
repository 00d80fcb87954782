// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/file.h"
#include "session/trace_stop.h"
#include "trace/tracefs.h"

uint64_t trace_stop_threshold_ns = UINT64_MAX;

static const char *folder;
static int marker_fd = -1, switch_fd = -1;
static unsigned int stopped; /* riscv64 exchanges no single byte without libatomic */
static bool switched;

/* The switch of a kernel that traces nothing is on, too: then stopping would only surprise. */
static bool is_tracing(int directory)
{
	char text[64];

	if (!file_text(directory, "tracing_on", text, sizeof(text)) || text[0] != '1')
		return false;
	if (file_text(directory, "current_tracer", text, sizeof(text)) &&
	    strncmp(text, "nop", strlen("nop")) != 0)
		return true;
	return file_text(directory, "events/enable", text, sizeof(text)) && text[0] != '0';
}

static void warn_of(const char *what, warn_fn *warn)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "--break cannot stop the kernel's tracing: %s: %s. Run as root with tracefs mounted on %s",
		 what, strerror(errno), TRACEFS_FOLDER);
	warn("no-tracing-stop", text);
}

void trace_stop_prepare(uint64_t threshold_ns, warn_fn *warn)
{
	int directory = tracefs_open_mounted(&folder);

	if (directory < 0) {
		warn_of("no tracefs", warn);
		return;
	}
	if (is_tracing(directory)) {
		marker_fd = openat(directory, "trace_marker", O_WRONLY | O_CLOEXEC);
		switch_fd = openat(directory, "tracing_on", O_WRONLY | O_CLOEXEC);
		if (marker_fd < 0 || switch_fd < 0)
			warn_of(folder, warn);
		else
			trace_stop_threshold_ns = threshold_ns;
	}
	close(directory);
}

void trace_stop_now(uint64_t latency_ns)
{
	char text[96];
	int size, error = errno;

	if (__atomic_exchange_n(&stopped, 1U, __ATOMIC_ACQ_REL))
		return;
	size = snprintf(text, sizeof(text), "hit latency threshold (%llu > %llu)",
			(unsigned long long)(latency_ns / NSEC_PER_USEC),
			(unsigned long long)(trace_stop_threshold_ns / NSEC_PER_USEC));
	(void)!write(marker_fd, text,
		     (size_t)size); /* refused: the tracing is stopped all the same */
	switched = write(switch_fd, "0", 1) == 1;
	errno = error;
}

void trace_stop_report(warn_fn *warn)
{
	char text[256];

	if (!switched)
		return;
	snprintf(text, sizeof(text),
		 "the kernel's tracing was stopped at the latency that --break asks for, and is still off: read %s/trace, then turn it on again with 'echo 1 > %s/tracing_on'",
		 folder, folder);
	warn("tracing-stopped", text);
}
