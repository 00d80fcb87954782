/* SPDX-License-Identifier: GPL-2.0-only */
/* The verb that shows the machine's threads, who can preempt whom first. */
#ifndef RTSCOPE_THREADS_H
#define RTSCOPE_THREADS_H

int threads_main(int argc, char **argv);

#endif
