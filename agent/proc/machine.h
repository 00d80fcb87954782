/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb machine: describe the system. */
#ifndef RTSCOPE_MACHINE_H
#define RTSCOPE_MACHINE_H

int machine_main(int argc, char **argv);

#endif
