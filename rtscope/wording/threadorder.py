# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about the order in which threads preempt each other."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Final

from rtscope.model.finding import Finding
from rtscope.model.thread_finding import (
    InterruptBelowWaiter,
    InterruptsBelowUsers,
    SoftirqsBelowUsers,
    UserAt99,
)
from rtscope.model.threads import SeenThread

_HIGHEST: Final = 99
_MOST_NAMED: Final = 3


@singledispatch
def thread_sentence(found: Finding) -> str:
    """Return the sentence on a finding about threads; empty for other findings."""
    return ""


@thread_sentence.register
def _(found: InterruptBelowWaiter) -> str:
    highest = found.highest
    needed = (highest.priority or _HIGHEST) + 1
    remedy = f"`chrt -f -p {needed} TID` raises an interrupt thread"
    if highest.policy == "deadline":
        remedy = "no interrupt thread can be above a deadline thread, so make the waiter fifo"
    elif needed >= _HIGHEST:
        remedy = f"give the waiter a priority below {_HIGHEST - 1}, and the interrupt one above it"
    module = f" of the module {highest.wait_module}" if highest.wait_module else ""
    return (
        f"{_named(found.interrupts)}: below the threads that wait for the interrupt, "
        f"{_named(found.waiters)} (in {highest.wait_channel}{module}). Threads with priorities in "
        f"between delay them: {remedy}"
    )


@thread_sentence.register
def _(found: UserAt99) -> str:
    return (
        f"at priority 99, above all interrupt threads: {_named(found.threads)}; 98 or less gives "
        "the same order among a program's own threads"
    )


@thread_sentence.register
def _(found: InterruptsBelowUsers) -> str:
    return (
        f"{_named(found.interrupts)}: below real-time threads of programs that may run on the same "
        f"CPU: {_named(found.users)}; this is right unless one of these waits for the interrupt"
    )


@thread_sentence.register
def _(found: SoftirqsBelowUsers) -> str:
    return (
        f"{_named(found.servers)}: below real-time threads of programs that may run on the same "
        f"CPU: {_named(found.users)}; while those run, network packets, timers of sockets and "
        "drivers, and RCU callbacks wait: raise the threads that a real-time thread depends on"
    )


def policy_words(thread: SeenThread) -> str:
    """Return `fifo 50` or `other`; with an inherited priority, `other ↑50`."""
    policy = thread.policy or "?"
    own = f"{policy} {thread.priority}" if thread.priority else policy
    if not thread.inherited:
        return own
    return f"{own} ↑{-1 - thread.rank}" if thread.rank > -101 else f"{own} ↑deadline"


def _named(threads: Sequence[SeenThread]) -> str:
    """Return `ksoftirqd/0 (tid 16, other), llrf (tid 81, fifo 90) and 4 more`."""
    words = [f"{thread.name} (tid {thread.tid}, {policy_words(thread)})" for thread in threads]
    more = f" and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return ", ".join(words[:_MOST_NAMED]) + more
