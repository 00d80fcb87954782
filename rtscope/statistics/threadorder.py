# SPDX-License-Identifier: GPL-2.0-only
"""The order in which threads preempt each other: findings of docs/reference/threads.md."""

import re
from collections.abc import Sequence
from typing import Final

from rtscope.model.cpulist import parse_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.finding import Finding
from rtscope.model.thread_finding import (
    InterruptBelowWaiter,
    InterruptsBelowUsers,
    SoftirqsBelowUsers,
    UserAt99,
)
from rtscope.model.threads import SeenThread, Threads

_HIGHEST: Final = 99
_SHORTEST_DRIVER: Final = 3
_NUMBER: Final = "0123456789_"
"""characters that are removed from the end of a driver's name"""
_ACTION: Final = re.compile(r"irq/[0-9]+-(?:s-)?([A-Za-z_][A-Za-z0-9_]*)")


def thread_findings(seen: Threads) -> list[Finding]:
    """Return the findings on a system's threads, warnings first."""
    found: list[Finding] = [*_interrupts_below_their_waiters(seen.threads)]
    top = [one for one in seen.threads if not one.kernel and one.priority == _HIGHEST]
    if top:
        found.append(UserAt99(severity="warning", threads=top))
    interrupts = [thread for thread in seen.threads if thread.irq is not None]
    if below := _below_users(interrupts, seen.threads):
        found.append(InterruptsBelowUsers(interrupts=below[0], users=below[1]))
    # Without PREEMPT_RT, soft interrupts also run at the end of hard interrupts.
    servers = [thread for thread in seen.threads if thread.softirq and seen.realtime_kernel]
    if below := _below_users(servers, seen.threads):
        found.append(SoftirqsBelowUsers(servers=below[0], users=below[1]))
    return found


def _interrupts_below_their_waiters(threads: Sequence[SeenThread]) -> list[Finding]:
    """Return threads that sleep in a driver whose interrupt thread is below them."""
    interrupts: dict[str, list[SeenThread]] = {}
    waiters: dict[str, list[SeenThread]] = {}
    for thread in threads:
        if driver := _driver(thread):
            interrupts.setdefault(driver, []).append(thread)
    for thread in threads:
        if thread.irq is None:
            for driver in _waited_for(thread) & interrupts.keys():
                waiters.setdefault(driver, []).append(thread)
    found: list[Finding] = []
    for driver, those in waiters.items():
        highest = min(those, key=lambda thread: thread.own_rank)
        below = [one for one in interrupts[driver] if one.own_rank > highest.own_rank]
        if below:
            lowest = max(below, key=lambda thread: thread.own_rank)
            above = [thread for thread in those if thread.own_rank < lowest.own_rank]
            found.append(
                InterruptBelowWaiter(
                    severity="warning", interrupts=below, waiters=above, highest=highest
                )
            )
    return found


def _waited_for(thread: SeenThread) -> set[str]:
    """Return possible names of the driver that it waits for."""
    module = _plain(thread.wait_module or "")
    return _prefixes(thread.wait_channel or "") | ({module} if module else set())


def _plain(name: str) -> str:
    """Return a driver's name without the number at its end."""
    return name.lower().rstrip(_NUMBER)


def _prefixes(channel: str) -> set[str]:
    """Return the beginnings of a function's name that may be its driver's, without numbers.

    For `sis8300_read_wait`: sis8300_read and sis.
    """
    ends = [match.start() for match in re.finditer("_", channel)]
    return {_plain(channel[:end]) for end in ends}


def _driver(thread: SeenThread) -> str:
    """Return the driver's name in that of its interrupt thread; empty where there is none."""
    action = _ACTION.match(thread.name) if thread.irq is not None else None
    driver = _plain(action[1]) if action else ""
    return driver if len(driver) >= _SHORTEST_DRIVER else ""


def _below_users(
    serving: Sequence[SeenThread], threads: Sequence[SeenThread]
) -> tuple[list[SeenThread], list[SeenThread]] | None:
    """Return threads of `serving` below a program's real-time thread on the same CPU, and those.

    None where there is none.
    """
    users = [thread for thread in threads if thread.own_rank < -1 and not thread.kernel]
    cpus = {thread.cpus or "": _cpus(thread.cpus) for thread in [*serving, *users]}
    highest: dict[int, int] = {}
    lowest: dict[int, int] = {}
    for user in users:
        for cpu in cpus[user.cpus or ""]:
            highest[cpu] = min(user.own_rank, highest.get(cpu, 0))
    for one in serving:
        for cpu in cpus[one.cpus or ""]:
            lowest[cpu] = max(one.own_rank, lowest.get(cpu, one.own_rank))
    below = [
        one
        for one in serving
        if any(highest.get(cpu, 0) < one.own_rank for cpu in cpus[one.cpus or ""])
    ]
    above = [
        user
        for user in users
        if any(lowest.get(cpu, user.own_rank) > user.own_rank for cpu in cpus[user.cpus or ""])
    ]
    return (below, above) if below else None


def _cpus(text: str | None) -> frozenset[int]:
    try:
        return frozenset(parse_cpu_list(text or ""))
    except RtscopeError:
        return frozenset()
