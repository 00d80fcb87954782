/* SPDX-License-Identifier: GPL-2.0-only */
/* The entry point of each probe, one file each. */
#ifndef RTSCOPE_PROBE_H
#define RTSCOPE_PROBE_H

int async_main(int argc, char **argv);
int cyclic_main(int argc, char **argv);
int daq_main(int argc, char **argv);
int event_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int gtod_main(int argc, char **argv);
int loop_main(int argc, char **argv);
int memory_main(int argc, char **argv);
int migrate_main(int argc, char **argv);
int noise_main(int argc, char **argv);
int pi_main(int argc, char **argv);
int scaling_main(int argc, char **argv);
int sched_main(int argc, char **argv);
int signal_main(int argc, char **argv);
int topology_main(int argc, char **argv);

#endif
