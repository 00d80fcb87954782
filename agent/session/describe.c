// SPDX-License-Identifier: GPL-2.0-only
/* All commands and their options as JSON, from the tables that parse them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hello.h"
#include "base/json.h"
#include "base/verbs.h"
#include "load/load.h"
#include "session/describe.h"
#include "session/session.h"

static void describe_presets(const struct probe *probe, struct json *json)
{
	json_object_begin(json, "presets");
	for (const struct option_preset *one = probe->presets; one && one->name; one++) {
		if (one->text)
			json_string(json, one->name, one->text);
		else
			json_null(json, one->name);
	}
	json_object_end(json);
}

/* The unit in a metric's name; NULL: it is a count, or 1 for yes. */
static const char *unit_of(const char *metric)
{
	static const struct {
		const char *end;
		const char *unit;
	} units[] = {
		{ "_ns_per_s", "ns/s" },
		{ "_ns_per_event", "ns/event" },
		{ "_ns_per_mb", "ns/MB" },
		{ "_bytes_per_event", "B/event" },
		{ "_bytes_per_s", "B/s" },
		{ "_operations_per_s", "operations/s" },
		{ "_per_event", "1/event" },
		{ "_per_s", "1/s" },
		{ "_ns", "ns" },
		{ "_percent", "%" },
		{ "_hz", "Hz" },
		{ NULL, NULL },
	};
	char name[64];
	size_t length = (size_t)snprintf(name, sizeof(name), "_%s", metric);

	for (unsigned int i = 0; units[i].end; i++) {
		size_t end = strlen(units[i].end);

		if (length >= end && !strcmp(name + length - end, units[i].end))
			return units[i].unit;
	}
	return NULL;
}

static void describe_metrics(const char *const *metrics, struct json *json)
{
	json_array_begin(json, "metrics");
	for (unsigned int i = 0; metrics && metrics[i]; i++)
		json_string(json, NULL, metrics[i]);
	json_array_end(json);
	json_object_begin(json, "units");
	for (unsigned int i = 0; metrics && metrics[i]; i++) {
		if (unit_of(metrics[i]))
			json_string(json, metrics[i], unit_of(metrics[i]));
	}
	json_object_end(json);
}

static void describe_probe(const struct probe *probe, struct json *json)
{
	json_object_begin(json, NULL);
	json_string(json, "name", probe->name);
	json_string(json, "summary", probe->summary);
	json_string(json, "help", probe->help);
	json_bool(json, "takes_command", probe->takes_command);
	if (probe->samples)
		json_u64(json, "samples", probe->samples);
	if (probe->module)
		json_string(json, "module", probe->module);
	if (probe->module_if)
		json_string(json, "module_if", probe->module_if);
	options_describe(probe->options, json, "options");
	describe_presets(probe, json);
	describe_metrics(probe->metrics, json);
	json_object_end(json);
}

static void describe_loads(struct json *json)
{
	json_array_begin(json, "loads");
	for (const char *const *name = load_names(); *name; name++) {
		json_object_begin(json, NULL);
		json_string(json, "name", *name);
		json_string(json, "help", load_help(*name));
		if (load_strength(*name)) {
			json_string(json, "strength", load_strength(*name));
			json_string(json, "strength_default", load_strength_default(*name));
			json_u64(json, "strength_max", LOAD_STRENGTH_MAX);
		}
		json_object_end(json);
	}
	json_array_end(json);
}

int describe_main(int argc, char **argv)
{
	struct json json = { .fd = STDOUT_FILENO };

	(void)argv;
	if (argc > 1) {
		fputs("usage: rtscope-agent describe\n\n"
		      "Print all commands and their options as one line of JSON.\n",
		      stderr);
		return 2;
	}
	json_begin(&json, "description");
	json_string(&json, "agent", RTSCOPE_VERSION);
	json_u64(&json, "version", DESCRIPTION_VERSION);
	json_array_begin(&json, "probes");
	for (const struct verb *verb = verbs; verb->name; verb++) {
		if (verb->probe)
			describe_probe(verb->probe, &json);
	}
	json_array_end(&json);
	options_describe(session_options_table, &json, "session");
	json_array_begin(&json, "commands");
	for (const struct verb *verb = verbs; verb->name; verb++) {
		if (verb->probe)
			continue;
		json_object_begin(&json, NULL);
		json_string(&json, "name", verb->name);
		json_string(&json, "summary", verb->summary);
		options_describe(verb->options, &json, "options");
		json_object_end(&json);
	}
	json_array_end(&json);
	describe_loads(&json);
	json_end(&json);
	return json.failed || fflush(stdout) || ferror(stdout);
}
