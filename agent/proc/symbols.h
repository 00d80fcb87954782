/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb symbols: list the addresses of the kernel's functions. */
#ifndef RTSCOPE_SYMBOLS_H
#define RTSCOPE_SYMBOLS_H

#include "base/options.h"

extern const struct option_spec symbols_options[];

int symbols_main(int argc, char **argv);

#endif
