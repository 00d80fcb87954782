/* SPDX-License-Identifier: GPL-2.0-only */
/* Splitting text into words as a shell does, with no shell and no expansion. */
#ifndef RTSCOPE_ARGUMENTS_H
#define RTSCOPE_ARGUMENTS_H

/*
 * Cut @text, which is overwritten, into at most @most words: blanks part them;
 * '...', "..." and backslashes quote. @word gets a NULL after the last one, so it
 * has room for @most + 1. Returns their number, or -1 when a quote is not closed
 * or there are too many.
 */
int arguments_split(char *text, char **word, int most);

#endif
