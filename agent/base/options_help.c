// SPDX-License-Identifier: GPL-2.0-only
/* --help: a line or more for each option of a table. */
#include <stdio.h>
#include <string.h>

#include "base/option_value.h"
#include "base/options.h"

#define HELP_COLUMN 27 /* of the help text */
#define HELP_WIDTH  96

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

static void help_text(const struct option_spec *option, const char *preset, char *text, size_t size)
{
	char wanted[400];

	*text = '\0';
	option_append(text, size, "%s", option->help);
	switch (option->kind) {
	case OPTION_CHOICE:
	case OPTION_EITHER:
		option_wanted_text(option, wanted, sizeof(wanted));
		option_append(text, size, " (%s)", wanted);
		break;
	case OPTION_TIME:
	case OPTION_NUMBER:
	case OPTION_UINT:
		option_range_text(option, wanted, sizeof(wanted));
		if (option->max || option->min > 1)
			option_append(text, size, ", %s", wanted);
		if (option->kind == OPTION_TIME)
			option_append(text, size, " (default unit: %s)", option_bare_unit(option));
		break;
	default:
		break;
	}
	if (option->computed && !(preset && preset != option->preset))
		option_append(text, size, " [default: %s]", option->computed);
	else if (preset && option_takes_value(option))
		option_append(text, size, " [default: %s]", preset);
}

void options_help(const struct option_spec *table, const struct option_preset *presets, FILE *out)
{
	for (const struct option_spec *option = table; option && option->name; option++) {
		char text[1024];
		int column;

		if (option->internal || !option_applies(option, presets))
			continue;
		if (option->letter)
			column = fprintf(out, "  -%c, ", option->letter);
		else
			column = fprintf(out, "      ");
		column += fprintf(out, "--%s%s%s", option->name,
				  option_takes_value(option) ? " " : "",
				  option_takes_value(option) ? option_metavar(option) : "");
		help_text(option, option_preset_of(option, presets), text, sizeof(text));
		print_wrapped(text, (size_t)column, out);
	}
}
