# SPDX-License-Identifier: GPL-2.0-only
"""A reference: published tables as data, with the information needed to interpret them."""

from typing import Final, Literal

import msgspec

from rtscope.model.units import NS_PER_UNIT

Unit = Literal["ns", "us", "ms", "s", "count", "percent", "times", "MHz", "GHz", "GB", "verdict"]

HOW_OURS: Final = (
    "min", "mean", "stddev", "max", "samples", "missed", "between", "threads above",
    "sum of ", "most of ", "least of ",
)  # fmt: skip
"""What `Metric.ours` may be; the last three are followed by the name of a probe's metric."""


class Value(msgspec.Struct, frozen=True):
    """One cell of a published table."""

    text: str
    """as printed, so that 4.760000 keeps its zeros"""
    number: float | None = None
    """None where nothing, or only a verdict, was published"""
    relation: Literal["is", "about", "above", "below"] = "is"
    """how the number was published: 30, ~30, >160, <2"""


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of a value: the longest period, a count of samples in a bucket."""

    name: str
    """as printed"""
    unit: Unit
    ours: str | None = None
    """the equivalent in a run, one of HOW_OURS; None if there is none"""
    from_ns: int | None = None
    """for "between" and "threads above": the lowest latency counted"""
    below_ns: int | None = None
    """for "between": the first latency not counted"""

    def ns(self, value: Value) -> float | None:
        """The value in nanoseconds; None if it is not a time."""
        if value.number is None or self.unit not in NS_PER_UNIT:
            return None
        return value.number * NS_PER_UNIT[self.unit]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measurement: under one load, with one method, on one CPU."""

    name: str
    """as printed"""
    values: list[Value]
    """one for each of the table's metrics, in their order"""
    loads: list[str] = []
    """equivalent loads of rtscope: "files+network:2"; without a strength, any strength"""
    threads: list[str] = []
    """names of the equivalent threads of the probe; empty: any"""
    cpu: int | None = None
    """if each CPU has its own entry"""
    cell: str | None = None
    """name of the [[measure]] table of a plan whose cells are equivalent"""
    samples: int | None = None
    hardware: str | None = None
    """if it differs from the reference's; likewise the kernel"""
    kernel: str | None = None
    high_resolution_timers: bool | None = None
    """None where that was not published"""
    note: str = ""
    """remark printed with it"""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published table."""

    name: str
    title: str
    place: str
    """section, table or slide"""
    rows: Literal["entries", "figures"]
    """the rows of the published table"""
    metrics: list[Metric] = msgspec.field(name="figures")
    entries: list[Entry]
    probe: str | None = None
    """equivalent probe of rtscope; None if there is none"""
    load: str | None = None
    """in words, if all entries have the same"""
    seconds: float | None = None
    """duration, if a metric depends on it: only runs of that duration are comparable"""
    isolated: bool = False
    """measured with all CPUs except 0 isolated: only such runs are comparable"""
    together: list[Literal["interval", "duration"]] = []
    """settings in which runs of one entry may differ and still be merged"""
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
