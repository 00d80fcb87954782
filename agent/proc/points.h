/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb that shows and switches a running program's measurement points. */
#ifndef RTSCOPE_PROC_POINTS_H
#define RTSCOPE_PROC_POINTS_H

int points_main(int argc, char **argv);

#endif
