/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb that tunes the machine, and takes that back. */
#ifndef RTSCOPE_TUNE_H
#define RTSCOPE_TUNE_H

extern const struct option_spec tune_options[];

int tune_main(int argc, char **argv);

#endif
