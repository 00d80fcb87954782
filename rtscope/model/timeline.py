# SPDX-License-Identifier: GPL-2.0-only
"""What ran between a deadline and the answer: one timeline, whoever witnessed it."""

from typing import Annotated

import msgspec

from rtscope.model.units import LONGEST_NS

Ns = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]


class Call(msgspec.Struct, frozen=True):
    """One call of a function, or the rest of one that had begun before the deadline."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    """with all that it called"""
    depth: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    """0 where who called it is not known"""
    function: str


class Stretch(msgspec.Struct, frozen=True):
    """A time in which something held; `name` says what, where that is not clear from the list."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    name: str = ""


class FunctionTime(msgspec.Struct, frozen=True):
    """The time that one function took in itself, without what it called."""

    function: str
    ns: Ns


class Explanation(msgspec.Struct, frozen=True):
    """How one sample came to be as late as it was. Lists are in the order of time."""

    thread: int
    """the measuring thread's index"""
    time_ns: Ns
    """the deadline, since the run's start"""
    latency_ns: Ns
    witness: str
    """who saw it, in words"""
    cause: list[Call] = []
    """the way to where most of the time went: the longest outermost call, its longest, and so on;
    empty where no call took a good part of the latency"""
    calls: list[Call] = []
    """the longest of them; whoever called one of these is here too"""
    functions: list[FunctionTime] = []
    """all of them, longest first; they add up to latency_ns"""
    tasks: list[Stretch] | None = None
    """who had the CPU, as name/pid; None: it cannot be told"""
    interrupts_off: list[Stretch] | None = None
    preemption_off: list[Stretch] | None = None
    notes: list[str] = []
    """what lessens its worth, as sentences"""
