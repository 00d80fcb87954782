/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb machine: describe the system. */
#ifndef RTSCOPE_MACHINE_H
#define RTSCOPE_MACHINE_H

#include "base/options.h"

extern const struct option_spec machine_options[];

int machine_main(int argc, char **argv);

#endif
