# SPDX-License-Identifier: GPL-2.0-only
"""The agent's `progress` line: what threads and loads have done (docs/reference/protocol.md)."""

from typing import Annotated

import msgspec

from rtscope.model.units import LONGEST_NS

Ns = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]
Moment = Annotated[int, msgspec.Meta(ge=-LONGEST_NS, le=LONGEST_NS)]
"""ns since a run's start, negative before it"""
Count = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]
Quantity = Annotated[float, msgspec.Meta(ge=0, le=2.0**63)]
"""of several latencies, in ns"""
ThreadIndex = Annotated[int, msgspec.Meta(ge=0, lt=8192)]


class WindowProgress(msgspec.Struct, frozen=True):
    """What one thread saw since the last progress line; None where it took no sample."""

    count: Count = 0
    mean_ns: Quantity | None = None
    max_ns: Ns | None = None


class ThreadProgress(msgspec.Struct, frozen=True):
    """What one thread has seen since the start; None where it has no sample yet."""

    thread: ThreadIndex
    count: Count
    missed: Count = 0
    min_ns: Ns | None = None
    mean_ns: Quantity | None = None
    p999_ns: Ns | None = None
    max_ns: Ns | None = None
    window: WindowProgress = WindowProgress()
    gained: Annotated[list[tuple[Ns, Count]], msgspec.Meta(max_length=1888)] = []
    """what its histogram has gained since then: where a bucket begins, and its new samples"""


class LoadProgress(msgspec.Struct, frozen=True):
    """Work that one load has done since it was started, as totals by unit."""

    name: str
    work: dict[str, Count] = {}


class Progress(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    """One `progress` line; `msgspec.json.decode(line, type=Progress)` reads it."""

    time_ns: Ns
    """since the start"""
    threads: list[ThreadProgress]
    loads: list[LoadProgress] = []
