# SPDX-License-Identifier: GPL-2.0-only
"""The histograms of a series over time as a heat map, with change points and kernel changes."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import numpy as np

from rtscope.model.units import format_ns
from rtscope.report.page.chart import (
    LEVELS,
    Axis,
    Cells,
    Chart,
    Floats,
    Mark,
    Note,
    Panel,
    axis,
    floats,
    rule,
)
from rtscope.report.page.scale import Scale, Tick, logarithmic
from rtscope.serve.entry import BINS_PER_DECADE, ChangeEntry, Entry, unpack_heat

_MOST_COLUMNS: Final = 120
_MOST_LINKS: Final = 200
_MOST_NOTES: Final = 4
_RAREST: Final = 6
"""the power of ten of the share that is drawn faintest"""
_HEIGHT: Final = 24.0
_DAY: Final = 86_400.0
_STEPS: Final = (900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, *(days * 86_400 for days in (
    1, 2, 7, 14, 28, 56, 91, 182, 364, 728)))  # fmt: skip


def seconds(created: str) -> float:
    """Seconds since 1970 of a run's start."""
    moment = datetime.fromisoformat(created)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def history_chart(
    heats: Sequence[tuple[Entry, bytes]], changes: Sequence[ChangeEntry], quantity: str
) -> Chart:
    """The chart of runs in order of time; there is at least one."""
    entries = [entry for entry, _ in heats]
    times = floats([seconds(entry.created) for entry in entries])
    unpacked = [unpack_heat(heat) for _, heat in heats]
    known = [number for heat in unpacked for number in heat] or [0]
    low, high = min(known), max(known) + 1
    edges = 10.0 ** (np.arange(low, high + 1) / BINS_PER_DECADE) / 1000
    down = axis(f"{quantity} (us)", logarithmic(float(edges[0]), float(edges[-1])), "us")
    start, end, groups = _columns(times)
    levels = [_levels([unpacked[index] for index in group], low, high) for group in groups]
    across = time_axis(float(start[0]), float(end[-1]))
    marks = [*_lines(entries, times), *_rules(entries, times, changes, down.scale)]
    return Chart(
        title="Over time",
        id="history",
        panels=[
            Panel(
                x=across,
                y=down,
                cells=Cells(start=start, end=end, edges=edges, levels=levels),
                marks=marks,
                notes=_kernel_notes(entries, times),
                height=_HEIGHT,
            )
        ],
        note="Darker: more of a column's samples, on a logarithmic scale from one in a million to "
        "all. A column holds the samples of all runs of its time. A dot opens its run.",
    )


def _columns(times: Floats) -> tuple[Floats, Floats, list[list[int]]]:
    """Start and end of each column that has runs, and which. Columns are as long as most gaps."""
    gaps = np.diff(times)
    span = float(times[-1] - times[0])
    usual = float(np.quantile(gaps, 0.75)) if len(gaps) else 0.0
    width = max(usual, span / _MOST_COLUMNS, 1.0)
    place = np.floor((times - times[0]) / width).astype(int)
    numbers = np.unique(place)
    start = times[0] + numbers * width
    groups = [np.flatnonzero(place == number).tolist() for number in numbers]
    return start, start + width, groups


def _levels(heats: Sequence[dict[int, int]], low: int, high: int) -> list[int]:
    count = np.zeros(high - low)
    for heat in heats:
        for number, samples in heat.items():
            count[number - low] += samples
    share = count / max(1.0, float(count.sum()))
    with np.errstate(divide="ignore"):
        level = np.ceil((np.log10(share) + _RAREST) / _RAREST * LEVELS)
    found: list[int] = np.where(count > 0, np.clip(level, 1, LEVELS), 0).astype(int).tolist()
    return found


def _lines(entries: Sequence[Entry], times: Floats) -> list[Mark]:
    p99 = floats([one.p99_ns / 1000 if one.p99_ns else math.nan for one in entries])
    deep = floats([one.p9999_ns / 1000 if one.p9999_ns else math.nan for one in entries])
    newest = [one for one in entries[-_MOST_LINKS:] if one.max_ns]
    maxima = Mark(
        name="max",
        x=floats([seconds(one.created) for one in newest]),
        y=floats([(one.max_ns or 0) / 1000 for one in newest]),
        shape="dots",
        colour=1,
        texts=[
            f"run {one.id[:8]}, {one.created[:16].replace('T', ' ')}: max "
            f"{format_ns(one.max_ns or 0)}"
            for one in newest
        ],
        links=[f"/run/{one.id}" for one in newest],
    )
    lines = [
        Mark(name="p99", x=times, y=p99, colour=2),
        Mark(name="p99.99", x=times, y=deep, colour=4, dash=1),
    ]
    return [*(one for one in lines if np.isfinite(one.y).any()), *([maxima] if newest else [])]


def _rules(
    entries: Sequence[Entry], times: Floats, changes: Sequence[ChangeEntry], down: Scale
) -> list[Mark]:
    first = float(times[0])
    points = sorted({seconds(one.change.created) for one in changes})
    kernels = [at for at, _ in kernel_changes(entries, times)]
    return [
        *(
            rule("change point", at, down.low, down.high, upright=True, colour=3, dash=0)
            for at in points
            if at >= first
        ),
        *(rule("other kernel", at, down.low, down.high, upright=True, dash=2) for at in kernels),
    ]


def kernel_changes(entries: Sequence[Entry], times: Floats) -> list[tuple[float, Entry]]:
    """When a run had another kernel than the run before it, and that run."""
    return [
        (float(times[number]), after)
        for number, (before, after) in enumerate(pairwise(entries), 1)
        if before.kernel != after.kernel
    ]


def _kernel_notes(entries: Sequence[Entry], times: Floats) -> list[Note]:
    """The names of the kernels, where they have room."""
    found = kernel_changes(entries, times)
    return [Note(at, one.kernel) for at, one in found] if len(found) <= _MOST_NOTES else []


def time_axis(start: float, end: float) -> Axis:
    """An axis of seconds since 1970 with dates."""
    if end - start < 1:
        end = start + 1
    scale = Scale(start, end)
    span = end - start
    step = next((one for one in _STEPS if span / one <= 8), _STEPS[-1])
    first = math.ceil(start / step) * step
    ticks = [
        Tick(float(at), _date_text(float(at), step), bool(number % 2) and span / step > 4)
        for number, at in enumerate(np.arange(first, end, step).tolist())
    ]
    return Axis("date (UTC)", scale, ticks, "date")


def _date_text(at: float, step: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M")
