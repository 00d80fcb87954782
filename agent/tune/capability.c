// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc/status.h"
#include "tune/capability.h"

const char *capability_lacking(enum capability capability)
{
	const char *status = status_read_pid(0);
	const char *value = status ? status_value(status, "CapEff") : NULL;
	uint64_t held = value ? strtoull(value, NULL, 16) : 0;

	if (held >> capability & 1)
		return NULL;
	switch (capability) {
	case CAPABILITY_DAC_OVERRIDE:
		return "CAP_DAC_OVERRIDE";
	case CAPABILITY_NET_ADMIN:
		return "CAP_NET_ADMIN";
	case CAPABILITY_SYS_ADMIN:
		return "CAP_SYS_ADMIN";
	case CAPABILITY_SYS_NICE:
		return "CAP_SYS_NICE";
	}
	return NULL;
}

const char *capability_to_write(const char *path)
{
	return access(path, W_OK) && errno == EACCES ? capability_lacking(CAPABILITY_DAC_OVERRIDE) :
						       NULL;
}
