"""The published figure from our data: latency against the number of samples, one panel a row."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rtscope.model.reference import Entry, Table
from rtscope.model.run import Run, Thread
from rtscope.report.chart import Chart
from rtscope.report.plots import figure_text
from rtscope.statistics.confidence import pooled_windows
from rtscope.statistics.reference import Beside, Filled, column_label, threads_like

_POINTS: Final = 300
_COLUMNS: Final = 3
_TICKS_US: Final = [10.0**power for power in range(-2, 8)]
_PUBLISHED_COLOUR: Final = 1
_OUR_COLOURS: Final = (0, 2, 3, 4, 5, 6, 7)
_DOTTED, _DASHED = 2, 1


def samples_chart(table: Table, ours: Beside, runs: Sequence[Run], chart_id: str) -> Chart | None:
    """Maxima and means along the samples beside the published ones; None where no row is filled.

    Runs of one row follow each other, as the published loops do.
    """
    if table.rows != "entries":
        return None
    by_entry: dict[str, list[Filled]] = {}
    for one in ours.filled:
        if one.entry is not None:
            by_entry.setdefault(one.entry, []).append(one)
    panels = [entry for entry in table.entries if entry.name in by_entry]
    traces: list[dict[str, Any]] = []
    titles = []
    for number, entry in enumerate(panels, 1):
        place = "" if number == 1 else str(number)
        axes = {"xaxis": f"x{place}", "yaxis": f"y{place}"}
        furthest = 1.0
        for one in by_entry[entry.name]:
            x, largest, mean = _along_samples(_pieces(entry, one, runs))
            furthest = max(furthest, *x, 1.0)
            traces += _lines(ours, one, x, largest, mean, axes, shown=number == 1)
        traces += _published(table, entry, furthest, axes, shown=number == 1)
        titles.append(
            {
                "text": figure_text(entry.name),
                "showarrow": False,
                "xref": f"x{place} domain",
                "yref": f"y{place} domain",
                "x": 0.02,
                "y": 1.08,
                "xanchor": "left",
            }
        )
    if not traces:
        return None
    return {
        "id": chart_id,
        "title": f"{table.title}: along the samples",
        "note": "The largest and the mean of each stretch of samples; published values as lines.",
        "traces": traces,
        "layout": _layout(len(panels), titles),
    }


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
    ours: Beside,
    one: Filled,
    x: list[float],
    largest: list[float],
    mean: list[float],
    axes: dict[str, str],
    *,
    shown: bool,
) -> list[dict[str, Any]]:
    who = column_label(one.column) if len(ours.columns) > 1 else "here"
    colour = _OUR_COLOURS[one.column % len(_OUR_COLOURS)]
    # A stretch begins where the one before it ended, the first at no sample.
    return [
        {
            "mode": "lines",
            "name": f"{kind} {who}",
            "legendgroup": f"{kind} {who}",
            "showlegend": shown,
            "colour": colour,
            "dash": dash,
            "x": [0, *x],
            "y": [y[0], *y],
            "line": {"shape": "vh"},
            **axes,
        }
        for kind, y, dash in (("max", largest, 0), ("mean", mean, _DOTTED))
    ]


def _published(
    table: Table, entry: Entry, furthest: float, axes: dict[str, str], *, shown: bool
) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for figure, value in zip(table.figures, entry.values, strict=True):
        ns = figure.ns(value)
        if figure.ours not in ("max", "mean") or not ns:
            continue
        traces.append(
            {
                "mode": "lines",
                "name": f"published {figure.name}",
                "legendgroup": figure.name,
                "showlegend": shown,
                "colour": _PUBLISHED_COLOUR,
                "dash": _DASHED if figure.ours == "max" else _DOTTED,
                "x": [0, furthest],
                "y": [ns / 1000, ns / 1000],
                **axes,
            }
        )
    return traces


def _layout(panels: int, titles: list[dict[str, Any]]) -> dict[str, Any]:
    columns = min(_COLUMNS, panels)
    rows = -(-panels // columns)
    layout: dict[str, Any] = {
        "grid": {"rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.35},
        "height": 120 + 220 * rows,
        "annotations": titles,
        "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
    }
    for number in range(1, panels + 1):
        place = "" if number == 1 else str(number)
        under = number > panels - columns
        layout[f"xaxis{place}"] = {"rangemode": "tozero"} | (
            {"title": {"text": "samples"}} if under else {}
        )
        layout[f"yaxis{place}"] = {
            "type": "log",
            "tickvals": _TICKS_US,
            "ticktext": [f"{us:,.0f}" if us >= 1 else f"{us:g}" for us in _TICKS_US],
        } | ({"title": {"text": "latency (us)"}} if number % columns == 1 or columns == 1 else {})
        if number > 1:
            layout[f"yaxis{place}"]["matches"] = "y"
    return layout
