/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions that the kernel maps into every program, found in its own ELF
 * image. Neither libc says whether it uses them: musl knows them on some
 * architectures only, so what its clock_gettime() costs is not what the kernel
 * offers.
 */
#ifndef RTSCOPE_VDSO_H
#define RTSCOPE_VDSO_H

/* The first of @names (which ends in NULL) that the vDSO has; NULL where it has none. */
void *vdso_function(const char *const *names);

#endif
