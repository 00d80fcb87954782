/* SPDX-License-Identifier: GPL-2.0-only */
/* The command that describes all commands and their options. */
#ifndef RTSCOPE_DESCRIBE_H
#define RTSCOPE_DESCRIBE_H

/* Print the description as one line of JSON (docs/reference/protocol.md). */
int describe_main(int argc, char **argv);

#endif
