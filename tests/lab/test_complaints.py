# SPDX-License-Identifier: GPL-2.0-only
"""The tests on debug kernels hear a complaint in whichever words the kernel has for it."""

import pytest

from tests.lab.complaints import complaints

BOOTED = """\
[    0.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[    0.170000] WARNING: nvram partition checksum was 0, should be b!
[    0.400000] rtdelay: loading out-of-tree module taints kernel.
[    0.500000] clocksource: Switched to clocksource MIPS
"""


def test_a_boot_with_nothing_to_complain_of_has_no_complaint() -> None:
    assert complaints(BOOTED) == []


@pytest.mark.parametrize(
    "line",
    [
        "BUG: sleeping function called from invalid context at kernel/locking/spinlock_rt.c:48",
        "[ BUG: Invalid wait context ]",
        "WARNING: possible circular locking dependency detected",
        "WARNING: inconsistent lock state",
        "WARNING: CPU: 0 PID: 1 at kernel/softirq.c:362 __local_bh_enable_ip+0x1/0x2",
        "BUG: scheduling while atomic: swapper/0/1/0x00000002",
        "BUG: MAX_LOCKDEP_ENTRIES too low!",
        "turning off the locking correctness validator.",
        "INFO: task init:1 blocked for more than 120 seconds.",
        "ODEBUG: Out of memory. ODEBUG disabled",
        "CPU 0 Unable to handle kernel paging request at virtual address 0000000000000000",
        "Kernel panic - not syncing: stack-protector: Kernel stack is corrupted in: start_kernel",
    ],
)
def test_a_complaint_is_found_with_its_line(line: str) -> None:
    reported = f"[    1.000000] {line}"
    assert complaints(f"{BOOTED}{reported}\n[    1.100000] random: crng init done\n") == [reported]


def test_a_kernel_without_lockdep_does_not_pass_for_a_debug_kernel_without_complaints() -> None:
    booted = "[    0.000000] Linux version 6.12.117-rt\n"
    with pytest.raises(AssertionError):
        complaints(booted)
    assert complaints(f"{booted}Oops\n", lockdep=False) == ["Oops"]
