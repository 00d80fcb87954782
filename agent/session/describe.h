/* SPDX-License-Identifier: GPL-2.0-only */
/* The command that describes all commands and their options. */
#ifndef RTSCOPE_DESCRIBE_H
#define RTSCOPE_DESCRIBE_H

/* Increased when an option, a probe, a load or a metric is added, changed or removed. */
#define DESCRIPTION_VERSION 1

/* Print the description as one line of JSON (docs/protocol.md). */
int describe_main(int argc, char **argv);

#endif
