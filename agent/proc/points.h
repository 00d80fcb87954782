/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb points: show and switch the measurement points of a running program. */
#ifndef RTSCOPE_PROC_POINTS_H
#define RTSCOPE_PROC_POINTS_H

#include "base/options.h"

extern const struct option_spec points_options[];

int points_main(int argc, char **argv);

#endif
