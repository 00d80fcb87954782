// SPDX-License-Identifier: GPL-2.0-only
/* Options as JSON: a table for `rtscope-agent describe`, and what is set for the start line. */
#include <stdio.h>

#include "base/option_value.h"
#include "base/options.h"

static void describe_range(const struct option_spec *option, struct json *json)
{
	json_u64(json, "min", option->min);
	if (option->zero)
		json_bool(json, "zero", true);
	if (option->max)
		json_u64(json, "max", option->max);
	if (option->step > 1)
		json_u64(json, "step", option->step);
}

static void describe_option(const struct option_spec *option, struct json *json)
{
	static const char *const kinds[] = {
		"flag", "number", "number", "time", "choice",  "choice",
		"text", "words",  "parsed", "flag", "ignored",
	};

	json_string(json, "name", option->name);
	if (option->alias)
		json_string(json, "alias", option->alias);
	if (option->letter)
		json_string(json, "letter", (const char[]){ option->letter, '\0' });
	json_string(json, "kind", kinds[option->kind]);
	json_string(json, "help", option->help);
	if (option_takes_value(option))
		json_string(json, "metavar", option_metavar(option));
	if (option->preset)
		json_string(json, "default", option->preset);
	if (option->computed)
		json_string(json, "computed", option->computed);
	if (option->kind == OPTION_TIME)
		json_string(json, "unit", option_bare_unit(option));
	else if (option->unit)
		json_string(json, "unit", option->unit);
	if (option->kind == OPTION_NUMBER || option->kind == OPTION_UINT ||
	    option->kind == OPTION_TIME || option->kind == OPTION_WORDS)
		describe_range(option, json);
	if (option->choices) {
		json_array_begin(json, "choices");
		for (const char *const *choice = option->choices; *choice; choice++)
			json_string(json, NULL, *choice);
		json_array_end(json);
	}
	if (option->wanted)
		json_string(json, "wanted", option->wanted);
	if (option->internal)
		json_bool(json, "internal", true);
}

void options_describe(const struct option_spec *table, struct json *json, const char *key)
{
	json_array_begin(json, key);
	for (const struct option_spec *option = table; option && option->name; option++) {
		json_object_begin(json, NULL);
		describe_option(option, json);
		json_object_end(json);
	}
	json_array_end(json);
}

/* The member's name: the option's with '_' for '-', and its unit. */
static void member_name(const struct option_spec *option, char *name, size_t size)
{
	snprintf(name, size, "%s%s%s", option->name,
		 option->kind == OPTION_TIME || option->unit ? "_" : "",
		 option->kind == OPTION_TIME ? "ns" :
		 option->unit		     ? option->unit :
					       "");
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
}

void options_report(const struct option_spec *table, struct json *json)
{
	for (const struct option_spec *option = table; option && option->name; option++) {
		char name[64];

		member_name(option, name, sizeof(name));
		if (option->silent)
			continue;
		switch (option->kind) {
		case OPTION_NUMBER:
		case OPTION_TIME:
			json_u64(json, name, *(uint64_t *)option->value);
			break;
		case OPTION_UINT:
			json_u64(json, name, *(unsigned int *)option->value);
			break;
		case OPTION_CHOICE:
			json_string(json, name, option->choices[*(unsigned int *)option->value]);
			break;
		case OPTION_EITHER:
			json_string(json, name, option->choices[*(bool *)option->value]);
			break;
		case OPTION_TEXT:
			if (*(const char **)option->value)
				json_string(json, name, *(const char **)option->value);
			break;
		default:
			break;
		}
	}
}
