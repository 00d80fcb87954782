/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's types for the headers of kernel/modules: musl comes without the kernel's headers. */
#pragma GCC system_header

#if __has_include_next(<linux/types.h>)
#include_next <linux/types.h>
#elif !defined(RTSCOPE_LINUX_TYPES_H)
#define RTSCOPE_LINUX_TYPES_H

#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;

#endif
