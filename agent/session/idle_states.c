// SPDX-License-Identifier: GPL-2.0-only
/* Holding and reading /dev/cpu_dma_latency. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "session/idle_states.h"

#define DEVICE	     "/dev/cpu_dma_latency"
#define LIMIT_MAX_NS (2000 * NSEC_PER_SEC) /* the kernel's value for no limit */
#define LIMIT_PREFIX "limit:"

static const char *const names[] = { "default", "limit", "off" };

const char *idle_mode_name(enum idle_mode mode)
{
	return names[mode];
}

bool idle_states_parse(const char *text, struct idle_states *idle)
{
	*idle = (struct idle_states){ .given = true };
	if (!strcmp(text, names[IDLE_DEFAULT]))
		return true;
	if (!strcmp(text, names[IDLE_OFF])) {
		idle->mode = IDLE_OFF;
		return true;
	}
	idle->mode = IDLE_LIMIT;
	return !strncmp(text, LIMIT_PREFIX, strlen(LIMIT_PREFIX)) &&
	       option_time(text + strlen(LIMIT_PREFIX), NSEC_PER_USEC, &idle->limit_ns) &&
	       idle->limit_ns < LIMIT_MAX_NS && !(idle->limit_ns % NSEC_PER_USEC);
}

bool idle_states_effective_ns(uint64_t *limit_ns)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	int32_t limit_us = -1;
	bool known;

	if (fd < 0)
		return false;
	known = read(fd, &limit_us, sizeof(limit_us)) == sizeof(limit_us) && limit_us >= 0;
	close(fd);
	*limit_ns = (uint64_t)limit_us * NSEC_PER_USEC;
	return known;
}

/* The kernel keeps the limit as long as the file is open. */
static bool hold(uint64_t limit_ns)
{
	int32_t limit_us = (int32_t)(limit_ns / NSEC_PER_USEC);
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return false;
	if (write(fd, &limit_us, sizeof(limit_us)) == sizeof(limit_us))
		return true;
	error = errno;
	close(fd);
	errno = error;
	return false;
}

void idle_states_hold(const struct idle_states *idle, uint64_t tuned_ns, warn_fn *warn)
{
	uint64_t wanted_ns = idle->mode == IDLE_OFF   ? 0 :
			     idle->mode == IDLE_LIMIT ? idle->limit_ns :
							tuned_ns;
	uint64_t effective_ns;
	char text[256];

	if (idle->mode != IDLE_DEFAULT && !hold(wanted_ns)) {
		snprintf(text, sizeof(text),
			 "idle states are not limited (" DEVICE
			 ": %s): the time to leave one may be part of a latency",
			 strerror(errno));
		warn("no-cpu-dma-latency", text);
		return;
	}
	if (wanted_ns == UINT64_MAX || !idle_states_effective_ns(&effective_ns) ||
	    effective_ns >= wanted_ns)
		return;
	snprintf(text, sizeof(text),
		 "idle states are limited to an exit latency of %llu us, not %llu us: another program holds " DEVICE
		 ", and the least limit counts",
		 (unsigned long long)(effective_ns / NSEC_PER_USEC),
		 (unsigned long long)(wanted_ns / NSEC_PER_USEC));
	warn("stricter-cpu-dma-latency", text);
}

void idle_states_print(const struct idle_states *idle, FILE *out)
{
	uint64_t effective_ns;

	fprintf(out, "# idle states %s", names[idle->mode]);
	if (!idle_states_effective_ns(&effective_ns))
		fprintf(out, "\n");
	else if (effective_ns >= LIMIT_MAX_NS)
		fprintf(out, ": no limit in effect\n");
	else
		fprintf(out, ": exit latency at most %llu us\n",
			(unsigned long long)(effective_ns / NSEC_PER_USEC));
}

void idle_states_put(struct json *json, const struct idle_states *idle)
{
	uint64_t effective_ns;

	json_object_begin(json, "idle_states");
	json_string(json, "mode", names[idle->mode]);
	json_u64_if(json, idle->mode == IDLE_LIMIT, "limit_ns", idle->limit_ns);
	if (idle_states_effective_ns(&effective_ns))
		json_u64(json, "effective_ns", effective_ns);
	else
		json_null(json, "effective_ns");
	json_object_end(json);
}
