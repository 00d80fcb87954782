// SPDX-License-Identifier: GPL-2.0-only
/* The protocol's first line: which agent speaks, and what it can do. */
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hello.h"
#include "base/json.h"
#include "base/verbs.h"

const char *const *hello_loads;

void hello_write(struct json *json)
{
	const char *unsettled = getenv(HELLO_UNSETTLED);
	struct utsname name;

	json_begin(json, "hello");
	json_u64(json, "protocol", PROTOCOL_VERSION);
	json_string(json, "agent", RTSCOPE_VERSION);
	json_u64(json, "description", DESCRIPTION_VERSION);
	json_string(json, "arch", uname(&name) ? "unknown" : name.machine);
	json_i64(json, "pid", getpid());
	json_array_begin(json, "probes");
	for (const struct verb *verb = verbs; verb->name; verb++) {
		if (verb->probe)
			json_string(json, NULL, verb->name);
	}
	json_array_end(json);
	json_array_begin(json, "loads");
	for (const char *const *name = hello_loads; name && *name; name++)
		json_string(json, NULL, *name);
	json_array_end(json);
	json_end(json);
	if (!unsettled)
		return;
	json_warning(json, "boot-not-over", unsettled);
}
