# SPDX-License-Identifier: GPL-2.0-only
"""The host's CPU that an emulator runs on, so that what it does on the host cannot be seen inside.

QEMU's main thread moves the virtual clock on when the guest has halted. If it looks just when the
guest halts, before the last instructions are counted, the clock goes too far by as many. It is
woken when the guest sets a timer, shortly before that. On the CPU of the guest's own thread it runs
at once, or when that thread sleeps, and not beside it.
"""

import contextlib
import os
import socket

NAMES = "\0rtscope-emulator-on-cpu-"
"""prefix of abstract sockets, which disappear when their process ends"""


def take_one_cpu(pid: int) -> socket.socket | None:
    """Pin a process, and its future threads, to one of the allowed CPUs. No other emulator uses
    that CPU while the socket is open; None if every CPU is in use. The process's current
    thread gets a real-time priority if the user may grant it.
    """
    cpus = sorted(os.sched_getaffinity(0), reverse=True)
    claims = ((cpu, claim) for cpu in cpus if (claim := _claim(cpu)))
    cpu, claim = next(claims, (cpus[pid % len(cpus)], None))
    with contextlib.suppress(OSError):
        os.sched_setaffinity(pid, {cpu})
    with contextlib.suppress(OSError):
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(pid, policy, os.sched_param(1))
    return claim


def _claim(cpu: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"{NAMES}{cpu}")
    except OSError:
        claim.close()
        return None
    return claim
