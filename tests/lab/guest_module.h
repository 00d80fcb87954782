/* SPDX-License-Identifier: GPL-2.0-only */
/* For a machine's only program that tries a module of the kernel, which is in the file /NAME.ko. */
#ifndef GUEST_MODULE_H
#define GUEST_MODULE_H

/* A wait of LOOKS * LOOK_US is long enough on any host, however busy. */
#define LOOKS	200
#define LOOK_US 50000

/* 0 or an error number. */
int module_load(const char *name, const char *parameters);
int module_unload(const char *name);

/* How many tasks' names have @part in them, once there are as many as @expected or never will be. */
int tasks_named(const char *part, int expected);

/* Four threads that run @body with the number of the open file @fd, which is closed after them. */
void in_four_threads(void *(*body)(void *fd), int fd);

/*
 * All of a program. The module refuses each of the parameters @bad, to NULL, and takes the @good
 * ones; then @try_loaded is called. At rest the module goes with its device /dev/NAME, and comes
 * and goes again. The last that is told is "@ leaks: ": none, what kmemleak has found, or that the
 * kernel does not look for them.
 */
_Noreturn void module_try(const char *name, const char *const *bad, const char *good,
			  void (*try_loaded)(void));

#endif
