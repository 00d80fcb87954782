/* SPDX-License-Identifier: GPL-2.0-only */
/* The watchdog connection: the agent ends when the program that started it remotely is gone. */
#ifndef RTSCOPE_WATCHDOG_CONNECTION_H
#define RTSCOPE_WATCHDOG_CONNECTION_H

/*
 * Run @run with these arguments in a process of its own, until standard input
 * ends or stays silent for @silence, a time as people write it. Returns the
 * exit status of @run, 128 and more where a signal ended it.
 */
int watchdog_connection_main(const char *silence, int (*run)(int argc, char **argv), int argc,
			     char **argv);

#endif
