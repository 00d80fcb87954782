/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RTSCOPE_MACHINE_PATHS_H
#define RTSCOPE_MACHINE_PATHS_H

extern const char *const machine_texts[], *const machine_audited[], *const machine_activity[];

#endif
