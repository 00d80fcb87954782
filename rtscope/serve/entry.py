# SPDX-License-Identifier: GPL-2.0-only
"""What the pages need of each run, so that no list and no chart over time reads whole runs."""

import math
import shlex
import zlib
from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal

import msgspec
import numpy as np

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.statistics.history import Change, Key, key_of
from rtscope.statistics.metrics import as_arrays, merge, metrics_of_run
from rtscope.statistics.verdict import Outcome, judge_by_own
from rtscope.store.summary import Summary

METRICS: Final = ("p99", "p99.99", "max")
"""whose change points are looked for"""
BINS_PER_DECADE: Final = 16
"""of latency, in heat maps"""
UNNAMED: Final = "a machine without a name"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    id: str
    created: str
    machine: str
    kernel: str
    probe: str
    load: str
    status: str
    source: str
    count: int
    """samples"""
    missed: int | None = None
    p99_ns: int | None = None
    p9999_ns: int | None = None
    max_ns: int | None = None
    verdict: Literal["", "pass", "fail", "inconclusive"] = ""
    """on the run's own budget; "" without one"""
    tags: list[str] = []
    command: str = ""
    """repeats the run"""
    damage: str = ""
    """why the run could not be read"""


class Indexed(msgspec.Struct, frozen=True):
    """An entry, its series and its coarse histogram."""

    entry: Entry
    key: Key | None = None
    """None where the run is part of no series, because it is not complete"""
    heat: bytes = b""


class ChangeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A change point of a metric of a series, and how to reproduce it."""

    series: int
    key: Key
    metric: str
    change: Change
    kernels: list[str]
    """before and after"""
    differing: list[str]
    """what differs between the last run before and the first after"""
    command: str
    """repeats the first run after"""
    count: int
    """samples of that run"""


def together(changes: Sequence[ChangeEntry]) -> list[list[ChangeEntry]]:
    """Neighbouring change points with the same first run after them, of several metrics."""
    grouped = groupby(changes, lambda one: (one.series, one.change.after))
    return [list(group) for _, group in grouped]


def indexed(summary: Summary, run: Run | RtscopeError) -> Indexed:
    """The entry of a run, or of what a list knows of one that cannot be read."""
    if isinstance(run, RtscopeError):
        return Indexed(_damaged(summary, str(run)))
    try:
        metrics = metrics_of_run(run)
        merged = merge([thread.histogram for thread in run.threads])
    except RtscopeError as error:
        return Indexed(_damaged(summary, str(error)))
    p99, p9999 = (
        None if (found := metrics.quantile(percent)).at_least else found.value_ns
        for percent in (99.0, 99.99)
    )
    machine = run.machine_name or UNNAMED
    entry = Entry(
        id=run.id,
        created=run.created,
        machine=machine,
        kernel=run.machine.kernel_release or "",
        probe=run.probe,
        load=run.load,
        status=run.status,
        source=run.source,
        count=metrics.count,
        missed=metrics.missed,
        p99_ns=p99,
        p9999_ns=p9999,
        max_ns=metrics.max_ns,
        verdict=_verdict([one.outcome for one in judge_by_own(run)]),
        tags=run.tags,
        command=shlex.join(run.asked.command),
    )
    in_series = run.status == "complete" and metrics.count > 0
    return Indexed(entry, key_of(run, machine) if in_series else None, pack_heat(heat_of(merged)))


def _damaged(summary: Summary, text: str) -> Entry:
    return Entry(
        id=summary.id,
        created=summary.created,
        machine=summary.host or UNNAMED,
        kernel=summary.kernel or "",
        probe=summary.probe,
        load=summary.load,
        status=summary.status,
        source=summary.source,
        count=summary.count,
        max_ns=summary.max_ns,
        damage=text,
    )


def _verdict(outcomes: Sequence[Outcome]) -> Literal["", "pass", "fail", "inconclusive"]:
    if "fail" in outcomes:
        return "fail"
    return "inconclusive" if "inconclusive" in outcomes else "pass" if outcomes else ""


def heat_of(histogram: Histogram) -> dict[int, int]:
    """Samples by the tenfold's BINS_PER_DECADE-th parts of their bucket's lowest latency.

    It is for the colours of a heat map alone; metrics are of the histogram itself.
    """
    lower, _, count = as_arrays(histogram)
    found: dict[int, int] = {}
    bins = np.floor(np.log10(np.maximum(lower, 1)) * BINS_PER_DECADE + 1e-9).astype(int)
    for number, samples in zip(bins.tolist(), count.tolist(), strict=True):
        found[number] = found.get(number, 0) + samples
    if histogram.beyond_count:
        last = math.floor(math.log10(max(histogram.beyond_ns, 1)) * BINS_PER_DECADE)
        found[last] = found.get(last, 0) + histogram.beyond_count
    return found


def pack_heat(heat: dict[int, int]) -> bytes:
    """In few bytes."""
    return zlib.compress(msgspec.msgpack.encode(heat))


def unpack_heat(data: bytes) -> dict[int, int]:
    """Read the output of pack_heat."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=dict[int, int]) if data else {}
