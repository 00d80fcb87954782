# SPDX-License-Identifier: GPL-2.0-only
"""Findings about the order in which threads preempt each other (docs/reference/threads.md)."""

from rtscope.model.finding import Finding
from rtscope.model.threads import SeenThread


class InterruptBelowWaiter(Finding, frozen=True, kw_only=True):
    """Interrupt threads with a lower priority than a thread that waits for the interrupt."""

    interrupts: list[SeenThread]
    waiters: list[SeenThread]
    highest: SeenThread
    """of the waiters"""


class UserAt99(Finding, frozen=True, kw_only=True, tag="user-at-99"):
    """Threads of programs at the highest priority."""

    threads: list[SeenThread]


class InterruptsBelowUsers(Finding, frozen=True, kw_only=True):
    """Interrupt threads below real-time threads of programs that may run on the same CPU."""

    interrupts: list[SeenThread]
    users: list[SeenThread]


class SoftirqsBelowUsers(Finding, frozen=True, kw_only=True):
    """Threads for soft interrupts below real-time threads of programs on the same CPU."""

    servers: list[SeenThread]
    users: list[SeenThread]
