// SPDX-License-Identifier: GPL-2.0-only
/* Parse, check and describe the value of one option. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/option_value.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "min", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "d", 86400 * NSEC_PER_SEC },
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

bool option_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (!digit(*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end && *number <= max;
}

bool option_time(const char *text, uint64_t bare_unit_ns, uint64_t *ns)
{
	uint64_t scale = 0, fraction;
	char *end;

	if (!digit(*text))
		return false;
	errno = 0;
	*ns = strtoull(text, &end, 10);
	text = end;
	if (*text == '.')
		for (text++; digit(*text);)
			text++;
	if (!*text)
		scale = bare_unit_ns;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(text, units[i].name))
			scale = units[i].ns;
	}
	if (errno || !scale || *ns > INT64_MAX / scale)
		return false;
	*ns *= scale;
	for (fraction = scale / 10; *end == '.' || digit(*end); end++) {
		if (*end == '.')
			continue;
		*ns += (uint64_t)(*end - '0') * fraction;
		fraction /= 10;
	}
	return *ns <= INT64_MAX;
}

uint64_t option_bare_ns(const struct option_spec *option)
{
	return option->bare_ns ? option->bare_ns : NSEC_PER_USEC;
}

const char *option_bare_unit(const struct option_spec *option)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].ns == option_bare_ns(option))
			return units[i].name;
	}
	return "ns";
}

static uint64_t highest(const struct option_spec *option)
{
	return option->max ? option->max : INT64_MAX;
}

bool option_takes_value(const struct option_spec *option)
{
	return option->kind != OPTION_FLAG && option->kind != OPTION_ACTION &&
	       option->kind != OPTION_IGNORED;
}

const char *option_metavar(const struct option_spec *option)
{
	if (option->metavar)
		return option->metavar;
	switch (option->kind) {
	case OPTION_NUMBER:
	case OPTION_UINT:
		return "N";
	case OPTION_TIME:
		return "TIME";
	case OPTION_CHOICE:
	case OPTION_EITHER:
		return "CHOICE";
	default:
		return "TEXT";
	}
}

/* The shortest exact form, such as 1500us. */
static void time_text(uint64_t ns, char *text, size_t size)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} shown[] = { { "h", 3600 * NSEC_PER_SEC },
		      { "s", NSEC_PER_SEC },
		      { "ms", NSEC_PER_MSEC },
		      { "us", NSEC_PER_USEC },
		      { "ns", 1 } };
	size_t i = 0;

	while (ns % shown[i].ns)
		i++;
	snprintf(text, size, "%llu%s", (unsigned long long)(ns / shown[i].ns),
		 ns ? shown[i].name : "");
}

static void bound_text(const struct option_spec *option, uint64_t bound, char *text, size_t size)
{
	if (option->kind == OPTION_TIME)
		time_text(bound, text, size);
	else
		snprintf(text, size, "%llu", (unsigned long long)bound);
}

void option_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

void option_range_text(const struct option_spec *option, char *text, size_t size)
{
	char min[32], max[32];

	*text = '\0';
	bound_text(option, option->min, min, sizeof(min));
	bound_text(option, option->max, max, sizeof(max));
	if (option->zero)
		option_append(text, size, "0 or ");
	if (option->max)
		option_append(text, size, "from %s to %s", min, max);
	else if (option->min > 1)
		option_append(text, size, "at least %s", min);
	else if (option->min)
		option_append(text, size, "more than 0");
	if (option->step > 1)
		option_append(text, size, ", a multiple of %llu", (unsigned long long)option->step);
}

void option_wanted_text(const struct option_spec *option, char *text, size_t size)
{
	char range[128];

	*text = '\0';
	switch (option->kind) {
	case OPTION_CHOICE:
	case OPTION_EITHER:
		for (const char *const *choice = option->choices; *choice; choice++)
			option_append(text, size, "%s%s",
				      choice == option->choices ? "" :
				      choice[1]			? ", " :
								  " or ",
				      *choice);
		break;
	case OPTION_PARSED:
	case OPTION_ACTION:
		option_append(text, size, "%s", option->wanted);
		break;
	default:
		option_range_text(option, range, sizeof(range));
		option_append(text, size, "%s%s%s%s%s",
			      option->kind == OPTION_TIME ? "a time" : "a number",
			      option->unit ? " in " : "", option->unit ? option->unit : "",
			      !*range			  ? "" :
			      option->max || option->zero ? " " :
							    " of ",
			      range);
		if (option->kind == OPTION_TIME)
			option_append(text, size, ", such as %s",
				      option->preset ? option->preset : "1ms");
	}
}

static bool in_range(const struct option_spec *option, uint64_t number)
{
	if (option->zero && !number)
		return true;
	if (option->step && number % option->step)
		return false;
	return number >= option->min && number <= highest(option);
}

static bool set_number(const struct option_spec *option, const char *text, bool check)
{
	uint64_t number;

	if (option->kind == OPTION_TIME ? !option_time(text, option_bare_ns(option), &number) :
					  !option_number(text, UINT64_MAX, &number))
		return false;
	if (check && !in_range(option, number))
		return false;
	if (option->kind == OPTION_UINT)
		*(unsigned int *)option->value = (unsigned int)number;
	else
		*(uint64_t *)option->value = number;
	return true;
}

static bool set_choice(const struct option_spec *option, const char *text)
{
	for (unsigned int i = 0; option->choices[i]; i++) {
		if (strcmp(text, option->choices[i]) != 0)
			continue;
		if (option->kind == OPTION_EITHER)
			*(bool *)option->value = i;
		else
			*(unsigned int *)option->value = i;
		return true;
	}
	return false;
}

bool option_set_value(const struct option_spec *option, const char *text, bool check)
{
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)option->value = true;
		return true;
	case OPTION_NUMBER:
	case OPTION_UINT:
	case OPTION_TIME:
		return set_number(option, text, check);
	case OPTION_CHOICE:
	case OPTION_EITHER:
		return set_choice(option, text);
	case OPTION_TEXT:
		*(const char **)option->value = text;
		return true;
	case OPTION_WORDS:
		((const char **)option->value)[(*option->count)++] = text;
		return true;
	case OPTION_PARSED:
	case OPTION_ACTION:
		return option->parse(text, option->value);
	case OPTION_IGNORED:
		return true;
	}
	return false;
}

const char *option_preset_of(const struct option_spec *option, const struct option_preset *presets)
{
	for (; presets && presets->name; presets++) {
		if (!strcmp(presets->name, option->name))
			return presets->text;
	}
	return option->preset;
}

bool option_applies(const struct option_spec *option, const struct option_preset *presets)
{
	for (; presets && presets->name; presets++) {
		if (!strcmp(presets->name, option->name))
			return presets->text;
	}
	return true;
}
