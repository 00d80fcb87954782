# SPDX-License-Identifier: GPL-2.0-only
"""The code that ran between a deadline and the sample: one timeline for every trace source."""

from typing import Annotated

import msgspec

from rtscope.model.units import LONGEST_NS

Ns = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]


class Call(msgspec.Struct, frozen=True):
    """One call of a function, or the rest of a call that began before the deadline."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    """including its callees"""
    depth: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    """0 if the caller is unknown"""
    function: str


class Stretch(msgspec.Struct, frozen=True):
    """A time span in which a condition held; `name` is the condition where the list has several."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    name: str = ""


class FunctionTime(msgspec.Struct, frozen=True):
    """Time of one function without its callees."""

    function: str
    ns: Ns


class Explanation(msgspec.Struct, frozen=True):
    """The cause of one late sample. Lists are in chronological order."""

    thread: int
    """the measuring thread's index"""
    time_ns: Ns
    """the deadline, since the run's start"""
    latency_ns: Ns
    witness: str
    """trace source, in words"""
    cause: list[Call] = []
    """call chain with most of the time: the longest outermost call, its longest callee, and so on;
    empty if no call took a substantial part of the latency"""
    calls: list[Call] = []
    """the longest calls with their callers"""
    functions: list[FunctionTime] = []
    """all functions, longest first; their sum is latency_ns"""
    tasks: list[Stretch] | None = None
    """tasks on the CPU, as name/pid; None: unknown"""
    interrupts_off: list[Stretch] | None = None
    preemption_off: list[Stretch] | None = None
    notes: list[str] = []
    """limitations, as sentences"""
