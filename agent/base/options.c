// SPDX-License-Identifier: GPL-2.0-only
/* Parse command lines and report refused options. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/option_value.h"
#include "base/options.h"

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

	option_wanted_text(option, wanted, sizeof(wanted));
	return options_refuse(error, error_size, option->name, "--%s '%.200s' is not %s",
			      option->name, text, wanted);
}

static void set_presets(const struct option_spec *table, const struct option_preset *presets)
{
	for (const struct option_spec *option = table; option && option->name; option++) {
		const char *text = option_preset_of(option, presets);

		if (text)
			option_set_value(option, text, false);
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
	if (!option_applies(option, options->presets)) {
		return options_refuse(error, error_size, option->name, "--%s does not apply to %s",
				      option->name, options->command);
	}
	if (option->kind == OPTION_WORDS && *option->count == option->max) {
		return options_refuse(error, error_size, option->name,
				      "at most %llu --%s options are supported",
				      (unsigned long long)option->max, option->name);
	}
	if (!option_set_value(option, text, true))
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
	if (option_takes_value(option)) {
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
		if (!option_takes_value(option)) {
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
