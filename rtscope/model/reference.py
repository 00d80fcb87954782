# SPDX-License-Identifier: GPL-2.0-only
"""A reference: tables that others published, kept as data with all that is needed to read them."""

from typing import Final, Literal

import msgspec

from rtscope.model.units import NS_PER_UNIT

Unit = Literal["ns", "us", "ms", "s", "count", "percent", "times", "MHz", "GHz", "GB", "verdict"]

HOW_OURS: Final = (
    "min", "mean", "stddev", "max", "samples", "missed", "between", "threads above",
    "sum of ", "most of ", "least of ",
)  # fmt: skip
"""What `Figure.ours` may be; the last three are followed by the name of a probe's fact."""


class Value(msgspec.Struct, frozen=True):
    """One cell of a published table."""

    text: str
    """as printed, so that 4.760000 keeps its zeros"""
    number: float | None = None
    """None where nothing, or only a verdict, was published"""
    relation: Literal["is", "about", "above", "below"] = "is"
    """how the number was published: 30, ~30, >160, <2"""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a value says: the longest period, a count of samples in a bucket."""

    name: str
    """as printed"""
    unit: Unit
    ours: str | None = None
    """how the same is had from a run, one of HOW_OURS; None where it cannot be"""
    from_ns: int | None = None
    """for "between" and "threads above": the lowest latency counted"""
    below_ns: int | None = None
    """for "between": the first latency not counted"""

    def ns(self, value: Value) -> float | None:
        """The value in nanoseconds; None where it is no time."""
        if value.number is None or self.unit not in NS_PER_UNIT:
            return None
        return value.number * NS_PER_UNIT[self.unit]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured at once: under one load, in one way, on one CPU."""

    name: str
    """as printed"""
    values: list[Value]
    """one for each of the table's figures, in their order"""
    loads: list[str] = []
    """the loads of rtscope that stand for it: "files+network:2"; without a strength, any"""
    threads: list[str] = []
    """the names of the probe's threads that measure the same; none: any"""
    cpu: int | None = None
    """where each CPU has an entry of its own"""
    cell: str | None = None
    """the name of a plan's [[measure]] table whose cells stand for it"""
    samples: int | None = None
    hardware: str | None = None
    """where it differs from the reference's; so has the kernel"""
    kernel: str | None = None
    high_resolution_timers: bool | None = None
    """None where that was not published"""
    note: str = ""
    """what was printed beside it in words"""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published table."""

    name: str
    title: str
    place: str
    """section, table or slide"""
    rows: Literal["entries", "figures"]
    """which of the two stand below each other where it was published"""
    figures: list[Figure]
    entries: list[Entry]
    probe: str | None = None
    """the probe of rtscope that measures the same; None where none does"""
    load: str | None = None
    """in words, where all entries have the same"""
    seconds: float | None = None
    """how long it was measured, where a figure depends on it: only runs as long stand beside it"""
    isolated: bool = False
    """measured with every CPU but 0 isolated: only runs of such machines stand beside it"""
    together: list[Literal["interval", "duration"]] = []
    """what runs of one entry may differ in and still be put together"""
    caveats: list[str] = []


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication and its tables."""

    name: str
    title: str
    authors: list[str]
    published: str
    """where"""
    hardware: str
    kernel: str
    tables: list[Table]
    year: int | None = None
    """None where the publication has no date"""
    setup: str = ""
    """how it was measured: options, priorities, duration"""
    caveats: list[str] = []
