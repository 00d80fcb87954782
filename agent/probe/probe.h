/* SPDX-License-Identifier: GPL-2.0-only */
/* The entry point of each probe, one file each. */
#ifndef RTSCOPE_PROBE_H
#define RTSCOPE_PROBE_H

int cyclic_main(int argc, char **argv);

#endif
