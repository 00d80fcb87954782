// SPDX-License-Identifier: GPL-2.0-only
/* What this process may do to the machine, as its status tells. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/file.h"
#include "tune/capability.h"

const char *capability_lacking(enum capability capability)
{
	static const char key[] = "\nCapEff:\t";
	static char text[16 << 10];
	const char *line;
	uint64_t held;

	file_text(AT_FDCWD, "/proc/self/status", text, sizeof(text));
	line = strstr(text, key);
	held = line ? strtoull(line + strlen(key), NULL, 16) : 0;
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
