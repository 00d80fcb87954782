/* SPDX-License-Identifier: GPL-2.0-only */
/* Stopping an emulated machine for a snapshot, at the same instant on every host. */
#ifndef RTSCOPE_SNAPSHOT_H
#define RTSCOPE_SNAPSHOT_H

#include <stdbool.h>

/*
 * Stop the machine; the caller goes on in whatever machine is restored from the
 * snapshot. Returns false, having complained, where it cannot be stopped or was
 * not stopped where every host stops it.
 */
bool snapshot_stop(void);

#endif
