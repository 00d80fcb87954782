# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong, or worth knowing, in who can preempt whom; docs/threads.md says what is known."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from rtscope.model.cpulist import parse_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.threads import SeenThread, Threads

_HIGHEST: Final = 99
_MOST_NAMED: Final = 3
_SHORTEST_DRIVER: Final = 3
_NUMBER: Final = "0123456789_"
"""what is taken off the end of a driver's name"""
_ACTION: Final = re.compile(r"irq/[0-9]+-(?:s-)?([A-Za-z_][A-Za-z0-9_]*)")


class Remark(msgspec.Struct, frozen=True):
    """One sentence about the order."""

    severity: Literal["warning", "info"]
    code: str
    text: str


def remarks(seen: Threads) -> list[Remark]:
    """The remarks on a machine's threads, warnings first."""
    found = [
        *_interrupts_below_their_waiters(seen.threads),
        *_user_threads_at_the_top(seen.threads),
        *_interrupts_below_users(seen.threads),
    ]
    if seen.realtime_kernel:
        found += _soft_interrupts_below_users(seen.threads)
    return found


def policy_words(thread: SeenThread) -> str:
    """`fifo 50`, `other`; with what it has inherited, `other ↑50`."""
    policy = thread.policy or "?"
    own = f"{policy} {thread.priority}" if thread.priority else policy
    if not thread.inherited:
        return own
    return f"{own} ↑{-1 - thread.rank}" if thread.rank > -101 else f"{own} ↑deadline"


def _interrupts_below_their_waiters(threads: Sequence[SeenThread]) -> list[Remark]:
    """Threads that sleep in a driver whose interrupt's thread is below them."""
    interrupts: dict[str, list[SeenThread]] = {}
    waiters: dict[str, list[SeenThread]] = {}
    for thread in threads:
        if driver := _driver(thread):
            interrupts.setdefault(driver, []).append(thread)
    for thread in threads:
        if thread.irq is None:
            for driver in _waited_for(thread) & interrupts.keys():
                waiters.setdefault(driver, []).append(thread)
    found = []
    for driver, those in waiters.items():
        highest = min(those, key=lambda thread: thread.own_rank)
        below = [one for one in interrupts[driver] if one.own_rank > highest.own_rank]
        if below:
            lowest = max(below, key=lambda thread: thread.own_rank)
            above = [thread for thread in those if thread.own_rank < lowest.own_rank]
            found.append(_below_waiters(below, above, highest))
    return found


def _below_waiters(
    interrupts: list[SeenThread], waiters: list[SeenThread], highest: SeenThread
) -> Remark:
    needed = (highest.priority or _HIGHEST) + 1
    remedy = f"`chrt -f -p {needed} TID` puts an interrupt's thread above"
    if highest.policy == "deadline":
        remedy = "an interrupt's thread can be put above no deadline thread, so let it be fifo"
    elif needed >= _HIGHEST:
        remedy = f"give what waits a priority below {_HIGHEST - 1}, and the interrupt one above it"
    return Remark(
        "warning",
        "interrupt-below-waiter",
        f"{_named(interrupts)}: below what waits for the interrupt, {_named(waiters)} "
        f"(in {_place(highest)}), which whatever is between them delays: {remedy}",
    )


def _place(thread: SeenThread) -> str:
    module = f" of the module {thread.wait_module}" if thread.wait_module else ""
    return f"{thread.wait_channel}{module}"


def _waited_for(thread: SeenThread) -> set[str]:
    """What may be the name of the driver that it waits for."""
    module = _plain(thread.wait_module or "")
    return _prefixes(thread.wait_channel or "") | ({module} if module else set())


def _plain(name: str) -> str:
    """A driver's name as it is compared: without the number at its end."""
    return name.lower().rstrip(_NUMBER)


def _prefixes(channel: str) -> set[str]:
    """Each part of a function's name that may be its driver's: of `sis8300_read_wait` sis8300_read
    and sis, since drivers are compared without the number at their end."""
    ends = [match.start() for match in re.finditer("_", channel)]
    return {_plain(channel[:end]) for end in ends}


def _driver(thread: SeenThread) -> str:
    """The driver's name in that of its interrupt's thread; empty where there is none."""
    action = _ACTION.match(thread.name) if thread.irq is not None else None
    driver = _plain(action[1]) if action else ""
    return driver if len(driver) >= _SHORTEST_DRIVER else ""


def _user_threads_at_the_top(threads: Sequence[SeenThread]) -> list[Remark]:
    top = [thread for thread in threads if not thread.kernel and thread.priority == _HIGHEST]
    if not top:
        return []
    return [
        Remark(
            "warning",
            "user-at-99",
            f"at priority 99, above which no interrupt's thread can be put: {_named(top)}; "
            "98 or less does the same among a program's own threads",
        )
    ]


def _interrupts_below_users(threads: Sequence[SeenThread]) -> list[Remark]:
    below = _below_users([thread for thread in threads if thread.irq is not None], threads)
    if not below:
        return []
    interrupts, users = below
    return [
        Remark(
            "info",
            "interrupts-below-users",
            f"{_named(interrupts)}: below real-time threads of programs that may run on the same "
            f"CPU: {_named(users)}; that is right unless one of these waits for the interrupt",
        )
    ]


def _soft_interrupts_below_users(threads: Sequence[SeenThread]) -> list[Remark]:
    """On a kernel with PREEMPT_RT alone: others serve them when a hard interrupt returns."""
    below = _below_users([thread for thread in threads if thread.softirq], threads)
    if not below:
        return []
    serving, users = below
    return [
        Remark(
            "info",
            "softirqs-below-users",
            f"{_named(serving)}: below real-time threads of programs that may run on the same "
            f"CPU: {_named(users)}; while those run, network packets, the timers of sockets and "
            "drivers, and RCU wait there: raise what serves those that a real-time thread waits "
            "for",
        )
    ]


def _below_users(
    serving: Sequence[SeenThread], threads: Sequence[SeenThread]
) -> tuple[list[SeenThread], list[SeenThread]] | None:
    """Of `serving` those that are below a program's real-time thread which may run on the same
    CPU, and these threads; None where there is none."""
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


def _named(threads: Iterable[SeenThread]) -> str:
    """`ksoftirqd/0 (tid 16, other), llrf (tid 81, fifo 90) and 4 more`."""
    words = [f"{thread.name} (tid {thread.tid}, {policy_words(thread)})" for thread in threads]
    more = f" and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return ", ".join(words[:_MOST_NAMED]) + more
