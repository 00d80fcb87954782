/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb that tunes the machine, and takes that back. */
#ifndef RTSCOPE_TUNE_H
#define RTSCOPE_TUNE_H

int tune_main(int argc, char **argv);

#endif
