# SPDX-License-Identifier: GPL-2.0-only
"""The published chart from our data: latency against the number of samples, one panel a row."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from rtscope.model.reference import Entry, Table
from rtscope.model.run import Run, Thread
from rtscope.report.page.chart import Chart, Mark, Panel, axis, floats, rule
from rtscope.report.page.scale import linear, logarithmic
from rtscope.statistics.confidence import pooled_windows
from rtscope.statistics.reference import Beside, Filled, column_label, threads_like

_POINTS: Final = 300
_TICKS: Final = 5
_HEIGHT: Final = 12.0
_PUBLISHED_COLOUR: Final = 1
_OUR_COLOURS: Final = (0, 2, 3, 4, 5, 6, 7)
_DOTTED, _DASHED = 2, 1


def samples_chart(table: Table, ours: Beside, runs: Sequence[Run], chart_id: str) -> Chart | None:
    """Maxima and means along the samples with the published ones; None where no row is filled.

    Runs of one row follow each other, as the published loops do.
    """
    if table.rows != "entries":
        return None
    by_entry: dict[str, list[Filled]] = {}
    for one in ours.filled:
        if one.entry is not None:
            by_entry.setdefault(one.entry, []).append(one)
    drawn: dict[str, tuple[float, list[Mark]]] = {}
    for entry in table.entries:
        if entry.name not in by_entry:
            continue
        furthest, marks = 1.0, []
        for one in by_entry[entry.name]:
            x, largest, mean = _along_samples(_pieces(entry, one, runs))
            furthest = max(furthest, *x, 1.0)
            marks += _lines(ours, one, x, largest, mean)
        drawn[entry.name] = furthest, marks + _published(table, entry, furthest)
    times = [float(us) for _, marks in drawn.values() for mark in marks for us in mark.y if us > 0]
    if not times:
        return None
    y = axis("latency (us)", logarithmic(min(times), max(times)), "us", _TICKS)
    return Chart(
        id=chart_id,
        title=f"{table.title}: along the samples",
        note="The largest and the mean of each stretch of samples; published values as lines.",
        panels=[
            Panel(
                x=axis("samples", linear(furthest), "samples", _TICKS),
                y=y,
                marks=marks,
                title=name,
                height=_HEIGHT,
            )
            for name, (furthest, marks) in drawn.items()
        ],
    )


def _pieces(entry: Entry, one: Filled, runs: Sequence[Run]) -> list[tuple[Run, list[Thread]]]:
    return [(run, threads_like(entry, run)) for run in runs if run.id in one.runs]


def _along_samples(
    pieces: list[tuple[Run, list[Thread]]],
) -> tuple[list[float], list[float], list[float]]:
    """Samples of each thread so far, and the largest and mean latency in us since the last."""
    counts, means, maxima = [], [], []
    for _, threads in pieces:
        windows = pooled_windows(threads)
        total = sum(thread.count for thread in threads)
        if sum(windows.count) < total or not windows.count:
            # A run shorter than its first window, or imported: it is one stretch.
            counts.append(total / len(threads))
            means.append(sum(t.count * (t.mean_ns or 0.0) for t in threads) / total)
            maxima.append(float(max(t.max_ns or 0 for t in threads)))
            continue
        counts += [count / len(threads) for count in windows.count]
        means += windows.mean_ns
        maxima += [float(ns) for ns in windows.max_ns]
    count = np.array(counts)
    ends = np.cumsum(count)
    stretch = np.minimum((ends / ends[-1] * _POINTS).astype(int), _POINTS - 1)
    starts = np.flatnonzero(np.r_[True, np.diff(stretch) > 0])
    lasts = np.r_[starts[1:], len(count)] - 1
    weight = np.add.reduceat(count, starts)
    mean = np.add.reduceat(count * np.array(means), starts) / weight
    largest = np.maximum.reduceat(np.array(maxima), starts)
    return (
        np.round(ends[lasts], 1).tolist(),
        (largest / 1000).tolist(),
        np.round(mean / 1000, 4).tolist(),
    )


def _lines(
    ours: Beside, one: Filled, x: list[float], largest: list[float], mean: list[float]
) -> list[Mark]:
    who = column_label(one.column) if len(ours.columns) > 1 else "here"
    colour = _OUR_COLOURS[one.column % len(_OUR_COLOURS)]
    # A stretch begins where the one before it ended, the first at no sample.
    return [
        Mark(
            name=f"{kind} {who}",
            x=floats([0, *x]),
            y=floats([y[0], *y]),
            shape="vh",
            colour=colour,
            dash=dash,
        )
        for kind, y, dash in (("max", largest, 0), ("mean", mean, _DOTTED))
    ]


def _published(table: Table, entry: Entry, furthest: float) -> list[Mark]:
    marks = []
    for metric, value in zip(table.metrics, entry.values, strict=True):
        ns = metric.ns(value)
        if metric.ours not in ("max", "mean") or not ns:
            continue
        dash = _DASHED if metric.ours == "max" else _DOTTED
        name = f"published {metric.name}"
        marks.append(
            rule(name, ns / 1000, 0, furthest, upright=False, colour=_PUBLISHED_COLOUR, dash=dash)
        )
    return marks
