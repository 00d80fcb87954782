/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb that tells where the kernel's functions are. */
#ifndef RTSCOPE_SYMBOLS_H
#define RTSCOPE_SYMBOLS_H

int symbols_main(int argc, char **argv);

#endif
