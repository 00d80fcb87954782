// SPDX-License-Identifier: GPL-2.0-only
/* Command lines: options as tables, and numbers and times as people write them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"

#define HELP_COLUMN 27 /* of the help text */
#define HELP_WIDTH  96

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

static uint64_t bare_ns(const struct option_spec *option)
{
	return option->bare_ns ? option->bare_ns : NSEC_PER_USEC;
}

static uint64_t highest(const struct option_spec *option)
{
	return option->max ? option->max : INT64_MAX;
}

static bool takes_value(const struct option_spec *option)
{
	return option->kind != OPTION_FLAG && option->kind != OPTION_ACTION &&
	       option->kind != OPTION_IGNORED;
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

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
							 const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

/* "from 1ms to 1s", "at least 10us" or "": the range of a number or a time. */
static void range_text(const struct option_spec *option, char *text, size_t size)
{
	char min[32], max[32];

	*text = '\0';
	bound_text(option, option->min, min, sizeof(min));
	bound_text(option, option->max, max, sizeof(max));
	if (option->zero)
		append(text, size, "0 or ");
	if (option->max)
		append(text, size, "from %s to %s", min, max);
	else if (option->min > 1)
		append(text, size, "at least %s", min);
	else if (option->min)
		append(text, size, "more than 0");
	if (option->step > 1)
		append(text, size, ", a multiple of %llu", (unsigned long long)option->step);
}

/* What an option accepts, to complete "--x 'y' is not …". */
static void wanted_text(const struct option_spec *option, char *text, size_t size)
{
	char range[128];

	*text = '\0';
	switch (option->kind) {
	case OPTION_CHOICE:
	case OPTION_EITHER:
		for (const char *const *choice = option->choices; *choice; choice++)
			append(text, size, "%s%s",
			       choice == option->choices ? "" :
			       choice[1]		 ? ", " :
							   " or ",
			       *choice);
		break;
	case OPTION_PARSED:
	case OPTION_ACTION:
		append(text, size, "%s", option->wanted);
		break;
	default:
		range_text(option, range, sizeof(range));
		append(text, size, "%s%s%s%s%s",
		       option->kind == OPTION_TIME ? "a time" : "a number",
		       option->unit ? " in " : "", option->unit ? option->unit : "",
		       !*range			   ? "" :
		       option->max || option->zero ? " " :
						     " of ",
		       range);
		if (option->kind == OPTION_TIME)
			append(text, size, ", such as %s", option->preset ? option->preset : "1ms");
	}
}

/* The options of the last refusal. */
static char refused[128];

int options_refuse(char *error, size_t error_size, const char *names, const char *format, ...)
{
	va_list arguments;

	snprintf(refused, sizeof(refused), "%s", names);
	va_start(arguments, format);
	vsnprintf(error, error_size, format, arguments);
	va_end(arguments);
	return -1;
}

void options_write_refusal(struct json *json, const char *text)
{
	char names[sizeof(refused)], *rest = names;

	json_begin(json, "refusal");
	json_array_begin(json, "options");
	strcpy(names, refused);
	for (char *name = strtok_r(rest, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		json_string(json, NULL, name);
	json_array_end(json);
	json_string(json, "text", text);
	json_end(json);
}

static int refuse(const struct option_spec *option, const char *text, char *error,
		  size_t error_size)
{
	char wanted[400];

	wanted_text(option, wanted, sizeof(wanted));
	return options_refuse(error, error_size, option->name, "--%s '%.200s' is not %s",
			      option->name, text, wanted);
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

	if (option->kind == OPTION_TIME ? !option_time(text, bare_ns(option), &number) :
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

/* @check is false for a default, which may be outside of the range: 0 for none. */
static bool set(const struct option_spec *option, const char *text, bool check)
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

static const char *preset_of(const struct option_spec *option, const struct option_preset *presets)
{
	for (; presets && presets->name; presets++) {
		if (!strcmp(presets->name, option->name))
			return presets->text;
	}
	return option->preset;
}

static bool applies(const struct option_spec *option, const struct option_preset *presets)
{
	for (; presets && presets->name; presets++) {
		if (!strcmp(presets->name, option->name))
			return presets->text;
	}
	return true;
}

static void set_presets(const struct option_spec *table, const struct option_preset *presets)
{
	for (const struct option_spec *option = table; option && option->name; option++) {
		const char *text = preset_of(option, presets);

		if (text)
			set(option, text, false);
	}
}

/* Options of cyclictest that have another form here. */
static const struct {
	const char *option;
	const char *instead;
} cyclictest_options[] = {
	{ "-t", "each CPU of --cpus gets one thread: write --cpus 0-(N-1) instead of -t N" },
	{ "--threads",
	  "each CPU of --cpus gets one thread: write --cpus 0-(N-1) instead of --threads N" },
	{ "--hist",
	  "every run keeps a histogram of all samples, and --json prints it: leave the option out" },
};

static int refuse_unknown(const struct option_set *options, const char *word, char *error,
			  size_t error_size)
{
	for (size_t i = 0; i < sizeof(cyclictest_options) / sizeof(*cyclictest_options); i++) {
		const char *option = cyclictest_options[i].option;

		if (!strncmp(word, option, strlen(option))) {
			snprintf(error, error_size, "no option '%.200s': %s", word,
				 cyclictest_options[i].instead);
			return -1;
		}
	}
	snprintf(error, error_size, "no option '%.200s'; rtscope-agent %s --help lists them", word,
		 options->command);
	return -1;
}

static const struct option_spec *find_letter(const struct option_set *options, char letter)
{
	const struct option_spec *tables[] = { options->own, options->common };

	for (size_t i = 0; i < 2; i++) {
		for (const struct option_spec *one = tables[i]; one && one->name; one++) {
			if (one->letter == letter)
				return one;
		}
	}
	return NULL;
}

/* By its name, its alias or an unambiguous beginning of one. NULL: none, or *@several. */
static const struct option_spec *find_name(const struct option_set *options, const char *name,
					   size_t length, bool *several)
{
	const struct option_spec *tables[] = { options->own, options->common }, *found = NULL;

	*several = false;
	for (size_t i = 0; i < 2; i++) {
		for (const struct option_spec *one = tables[i]; one && one->name; one++) {
			const char *names[] = { one->name, one->alias ? one->alias : one->name };

			for (size_t n = 0; n < 2; n++) {
				if (strncmp(names[n], name, length) != 0)
					continue;
				if (!names[n][length])
					return one;
				*several |= found && found != one;
				found = one;
			}
		}
	}
	return *several ? NULL : found;
}

static int take(const struct option_set *options, const struct option_spec *option,
		const char *text, char *error, size_t error_size)
{
	if (!applies(option, options->presets)) {
		return options_refuse(error, error_size, option->name, "--%s does not apply to %s",
				      option->name, options->command);
	}
	if (option->kind == OPTION_WORDS && *option->count == option->max) {
		return options_refuse(error, error_size, option->name,
				      "at most %llu --%s options are supported",
				      (unsigned long long)option->max, option->name);
	}
	if (!set(option, text, true))
		return refuse(option, text, error, error_size);
	if (option->given)
		*option->given = true;
	return 0;
}

static int refuse_missing(const struct option_set *options, const char *word, char *error,
			  size_t error_size)
{
	snprintf(error, error_size, "%.200s needs a value; see rtscope-agent %s --help", word,
		 options->command);
	return -1;
}

/* Read argv[*at], which begins with two dashes, and perhaps its value behind it. */
static int take_long(const struct option_set *options, int argc, char **argv, int *at, char *error,
		     size_t error_size)
{
	const char *word = argv[*at], *name = word + 2;
	size_t length = strcspn(name, "=");
	bool several;
	const struct option_spec *option = find_name(options, name, length, &several);

	if (several) {
		snprintf(error, error_size,
			 "'%.200s' is the beginning of several options; rtscope-agent %s --help lists them",
			 word, options->command);
		return -1;
	}
	if (!option || !length)
		return refuse_unknown(options, word, error, error_size);
	if (takes_value(option)) {
		if (name[length])
			return take(options, option, name + length + 1, error, error_size);
		if (*at + 1 >= argc)
			return refuse_missing(options, word, error, error_size);
		return take(options, option, argv[++*at], error, error_size);
	}
	if (!name[length])
		return take(options, option, "", error, error_size);
	return options_refuse(error, error_size, option->name, "--%s takes no value", option->name);
}

/* Read argv[*at]: letters behind one dash, of which the last may have a value. */
static int take_letters(const struct option_set *options, int argc, char **argv, int *at,
			char *error, size_t error_size)
{
	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		const struct option_spec *option = find_letter(options, *letter);
		const char word[] = { '-', *letter, '\0' };

		if (!option)
			return refuse_unknown(options, word, error, error_size);
		if (!takes_value(option)) {
			if (take(options, option, "", error, error_size))
				return -1;
			continue;
		}
		if (letter[1])
			return take(options, option, letter + 1, error, error_size);
		if (*at + 1 >= argc)
			return refuse_missing(options, word, error, error_size);
		return take(options, option, argv[++*at], error, error_size);
	}
	return 0;
}

int options_parse(const struct option_set *set_of, int argc, char **argv, char *error,
		  size_t error_size)
{
	int words = 0;

	set_presets(set_of->common, set_of->presets);
	set_presets(set_of->own, NULL);
	for (int at = 1; at < argc; at++) {
		char *word = argv[at];
		int result = 0;

		if (!strcmp(word, "--")) {
			while (++at < argc)
				argv[1 + words++] = argv[at];
			break;
		}
		if (word[0] != '-' || !word[1])
			argv[1 + words++] = word;
		else if (word[1] == '-')
			result = take_long(set_of, argc, argv, &at, error, error_size);
		else
			result = take_letters(set_of, argc, argv, &at, error, error_size);
		if (result)
			return -1;
	}
	if (1 + words < argc)
		argv[1 + words] = NULL;
	return words;
}

static const char *metavar(const struct option_spec *option)
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

/* Print @text in lines that begin at HELP_COLUMN; the cursor stands at @column. */
static void print_wrapped(const char *text, size_t column, FILE *out)
{
	if (column >= HELP_COLUMN) {
		putc('\n', out);
		column = 0;
	}
	fprintf(out, "%*s", (int)(HELP_COLUMN - column), "");
	column = HELP_COLUMN;
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			putc(' ', out);
			column++;
		}
		fwrite(text, 1, length, out);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

static const char *bare_unit(const struct option_spec *option)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].ns == bare_ns(option))
			return units[i].name;
	}
	return "ns";
}

static void help_text(const struct option_spec *option, const char *preset, char *text, size_t size)
{
	char wanted[400];

	*text = '\0';
	append(text, size, "%s", option->help);
	switch (option->kind) {
	case OPTION_CHOICE:
	case OPTION_EITHER:
		wanted_text(option, wanted, sizeof(wanted));
		append(text, size, " (%s)", wanted);
		break;
	case OPTION_TIME:
	case OPTION_NUMBER:
	case OPTION_UINT:
		range_text(option, wanted, sizeof(wanted));
		if (option->max || option->min > 1)
			append(text, size, ", %s", wanted);
		if (option->kind == OPTION_TIME)
			append(text, size, " (default unit: %s)", bare_unit(option));
		break;
	default:
		break;
	}
	if (option->computed && !(preset && preset != option->preset))
		append(text, size, " [default: %s]", option->computed);
	else if (preset && takes_value(option))
		append(text, size, " [default: %s]", preset);
}

void options_help(const struct option_spec *table, const struct option_preset *presets, FILE *out)
{
	for (const struct option_spec *option = table; option && option->name; option++) {
		char text[1024];
		int column;

		if (option->internal || !applies(option, presets))
			continue;
		if (option->letter)
			column = fprintf(out, "  -%c, ", option->letter);
		else
			column = fprintf(out, "      ");
		column += fprintf(out, "--%s%s%s", option->name, takes_value(option) ? " " : "",
				  takes_value(option) ? metavar(option) : "");
		help_text(option, preset_of(option, presets), text, sizeof(text));
		print_wrapped(text, (size_t)column, out);
	}
}

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
	if (takes_value(option))
		json_string(json, "metavar", metavar(option));
	if (option->preset)
		json_string(json, "default", option->preset);
	if (option->computed)
		json_string(json, "computed", option->computed);
	if (option->kind == OPTION_TIME)
		json_string(json, "unit", bare_unit(option));
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
