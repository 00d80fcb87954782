/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting until a machine that has just booted is at rest. */
#ifndef RTSCOPE_SETTLE_H
#define RTSCOPE_SETTLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true once the boot is over, or false after a minute with a sentence
 * in @why that says what was not.
 */
bool settle(char *why, size_t why_size);

#endif
