/* SPDX-License-Identifier: GPL-2.0-only */
/* For a machine's only program that tries a module of the kernel. */
#ifndef GUEST_MODULE_H
#define GUEST_MODULE_H

/* A wait of LOOKS * LOOK_US is long enough on any host, however busy. */
#define LOOKS	200
#define LOOK_US 50000

/* 0 or an error number. */
int module_load(const char *path, const char *parameters);
int module_unload(const char *name);

/* How many tasks' names have @part in them, once there are as many as @expected or never will be. */
int tasks_named(const char *part, int expected);

/* Tells "@ leaks: ": none, what kmemleak has found, or that the kernel does not look for them. */
void tell_leaks(void);

#endif
