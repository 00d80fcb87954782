// SPDX-License-Identifier: GPL-2.0-only
/* Data caches and available memory, by which loads and probes choose their working sets. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "proc/caches.h"

static bool read_cache(unsigned int cpu, unsigned int index, const char *file, char *text,
		       size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index,
		 file);
	return file_text(AT_FDCWD, path, text, size);
}

bool cache_of_cpu(unsigned int cpu, unsigned int level, struct cache *cache)
{
	char text[512];
	unsigned int highest = 0;
	cpu_set_t sharing;

	for (unsigned int i = 0; read_cache(cpu, i, "level", text, sizeof(text)); i++) {
		unsigned int this_level = (unsigned int)strtoul(text, NULL, 10);
		char *unit;
		size_t size;

		if (read_cache(cpu, i, "type", text, sizeof(text)) &&
		    !strncmp(text, "Instruction", 11))
			continue;
		if ((level && this_level != level) || this_level <= highest ||
		    !read_cache(cpu, i, "size", text, sizeof(text)))
			continue;
		size = strtoul(text, &unit, 10) * (*unit == 'M' ? 1024 * 1024 : 1024);
		if (!size)
			continue;
		highest = this_level;
		cache->size = size;
		cache->shared_by = 1;
		if (read_cache(cpu, i, "shared_cpu_list", text, sizeof(text)) &&
		    cpulist_parse(text, &sharing) && CPU_COUNT(&sharing))
			cache->shared_by = (unsigned int)CPU_COUNT(&sharing);
	}
	return highest != 0;
}

bool cache_here(unsigned int level, struct cache *cache)
{
	int cpu = sched_getcpu();

	return cpu >= 0 && cache_of_cpu((unsigned int)cpu, level, cache);
}

uint64_t memory_available(void)
{
	char text[512];
	const char *line;
	struct sysinfo info;

	if (file_text(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) &&
	    (line = strstr(text, "MemAvailable:")) != NULL)
		return strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024;
	if (sysinfo(&info) < 0)
		return 0;
	return ((uint64_t)info.freeram + info.bufferram) * info.mem_unit;
}
