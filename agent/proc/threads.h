/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb threads: list all threads in the order in which they can preempt each other. */
#ifndef RTSCOPE_THREADS_H
#define RTSCOPE_THREADS_H

#include "base/options.h"

extern const struct option_spec threads_options[];

int threads_main(int argc, char **argv);

#endif
