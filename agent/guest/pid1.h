/* SPDX-License-Identifier: GPL-2.0-only */
/* Being the first and only program of an emulated machine. */
#ifndef RTSCOPE_PID1_H
#define RTSCOPE_PID1_H

#include <stdbool.h>

/* Whether the kernel started this program as its init. */
bool pid1_is_wanted(const char *name);

/* Set the machine up, run what was asked, and end the machine. Does not return. */
void pid1_main(int argc, char **argv);

#endif
