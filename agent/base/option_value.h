/* SPDX-License-Identifier: GPL-2.0-only */
/* The value of one option. Parsing, --help and `describe` (options.h) share this. */
#ifndef RTSCOPE_OPTION_VALUE_H
#define RTSCOPE_OPTION_VALUE_H

#include "base/options.h"

bool option_takes_value(const struct option_spec *option);

/*
 * Set the value from @text. Returns false where the option does not accept it. @check is false for
 * a default, which may be outside of the range: 0 for none.
 */
bool option_set_value(const struct option_spec *option, const char *text, bool check);

/* The default of a command with these @presets, as a user writes it; NULL: none. */
const char *option_preset_of(const struct option_spec *option, const struct option_preset *presets);

/* Whether a command with these @presets has the option. */
bool option_applies(const struct option_spec *option, const struct option_preset *presets);

/* The name of the value in --help. */
const char *option_metavar(const struct option_spec *option);

/* The unit of a time that is written without one. */
const char *option_bare_unit(const struct option_spec *option);

/* "from 1ms to 1s", "at least 10us" or "": the range of a number or a time. */
void option_range_text(const struct option_spec *option, char *text, size_t size);

/* What the option accepts, to complete "--x 'y' is not …". */
void option_wanted_text(const struct option_spec *option, char *text, size_t size);

/* Add to @text, as far as @size allows. */
void option_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
