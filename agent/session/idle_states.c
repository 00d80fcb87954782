// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "proc/cpu_latency.h"
#include "session/idle_states.h"

#define LIMIT_MAX_NS (2000 * NSEC_PER_SEC) /* the kernel's value for no limit */
#define LIMIT_PREFIX "limit:"

static const char *const names[] = { "default", "limit", "off" };

const char *idle_mode_name(enum idle_mode mode)
{
	return names[mode];
}

bool idle_states_parse(const char *text, struct idle_states *idle)
{
	*idle = (struct idle_states){ 0 };
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
	int32_t limit_us;

	if (cpu_latency_read(&limit_us) || limit_us < 0)
		return false;
	*limit_ns = (uint64_t)limit_us * NSEC_PER_USEC;
	return true;
}

void idle_states_hold(const struct idle_states *idle, uint64_t tuned_ns, warn_fn *warn)
{
	uint64_t wanted_ns = idle->mode == IDLE_OFF   ? 0 :
			     idle->mode == IDLE_LIMIT ? idle->limit_ns :
							tuned_ns;
	uint64_t effective_ns;
	int error = 0, held = -1; /* open to the end of the process */
	char text[256];

	if (idle->mode != IDLE_DEFAULT)
		error = cpu_latency_set(&held, (int32_t)(wanted_ns / NSEC_PER_USEC));
	if (error) {
		snprintf(text, sizeof(text),
			 "idle states are not limited (" CPU_LATENCY_DEVICE
			 ": %s): the time to leave one may be part of a latency",
			 strerror(error));
		warn("no-cpu-dma-latency", text);
		return;
	}
	if (wanted_ns == UINT64_MAX || !idle_states_effective_ns(&effective_ns) ||
	    effective_ns >= wanted_ns)
		return;
	snprintf(text, sizeof(text),
		 "idle states are limited to an exit latency of %llu us, not %llu us: another program holds " CPU_LATENCY_DEVICE
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
