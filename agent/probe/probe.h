/* SPDX-License-Identifier: GPL-2.0-only */
/* The probes, one file or folder of files each. */
#ifndef RTSCOPE_PROBE_H
#define RTSCOPE_PROBE_H

#include "session/session.h"

extern const struct probe async_probe;
extern const struct probe cyclic_probe;
extern const struct probe daq_probe;
extern const struct probe event_probe;
extern const struct probe exec_probe;
extern const struct probe gtod_probe;
extern const struct probe loop_probe;
extern const struct probe memory_probe;
extern const struct probe migrate_probe;
extern const struct probe noise_probe;
extern const struct probe pi_probe;
extern const struct probe response_probe;
extern const struct probe scaling_probe;
extern const struct probe sched_probe;
extern const struct probe signal_probe;
extern const struct probe topology_probe;

#endif
