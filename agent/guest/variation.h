/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes two runs of one emulated machine differ, and each of them repeatable: a seed. */
#ifndef RTSCOPE_VARIATION_H
#define RTSCOPE_VARIATION_H

/* Vary this machine by what the number @seed says, in decimal. */
void variation_apply(const char *seed);

#endif
