// SPDX-License-Identifier: GPL-2.0-only
/* Splitting text into words as a shell does, with no shell and no expansion. */
#include <stdbool.h>
#include <string.h>

#include "load/arguments.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/*
 * Unquote the word at *@from to *@to, never ahead of it; both end behind the
 * word. False when a quote is not closed.
 */
static bool take_word(char **from, char **to)
{
	char quote = '\0';

	for (; **from && (quote || !is_blank(**from)); (*from)++) {
		char c = **from, next = (*from)[1];

		if (quote ? c == quote : c == '\'' || c == '"') {
			quote = quote ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && (!quote || (next && strchr("$`\"\\", next)))) {
			if (!next)
				return false;
			c = next;
			(*from)++;
		}
		*(*to)++ = c;
	}
	return !quote;
}

int arguments_split(char *text, char **word, int most)
{
	char *from = text, *to = text;
	int count = 0;

	for (;;) {
		bool last;

		while (is_blank(*from))
			from++;
		if (!*from)
			break;
		if (count == most)
			return -1;
		word[count++] = to;
		if (!take_word(&from, &to))
			return -1;
		last = !*from;
		if (!last)
			from++;
		*to++ = '\0';
		if (last)
			break;
	}
	word[count] = NULL;
	return count;
}
