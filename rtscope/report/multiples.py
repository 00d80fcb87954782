"""Small multiples: a run's CPUs beside each other on one scale, what differs in another colour."""

import math
from collections.abc import Collection
from typing import Any, Final

import numpy as np

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.run import Run, Thread
from rtscope.model.units import format_ns
from rtscope.report.plots import figure_text
from rtscope.report.words import thread_name
from rtscope.statistics.figures import as_arrays

_BINS: Final = 80
_COLUMNS: Final = 4
_PANEL_PX: Final = 170
_FRAME_PX: Final = 60
_MOST: Final = 64
"""panels; more than these are too small to see"""
_POWERS: Final = [10**power for power in range(0, 13, 2)]
_ALIKE: Final = 0
_DIFFERENT: Final = 1
"""indexes of colours"""


def has_multiples(run: Run) -> bool:
    """Whether the run has several CPUs that can be held against each other."""
    threads = [thread for thread in run.threads if thread.count]
    return 2 <= len(threads) <= _MOST and all(t.cpu is not None and not t.name for t in threads)


def multiples(
    run: Run, quantity: str, different: Collection[int]
) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """The note, plotly's traces and the layout. `different` are the CPUs to be marked."""
    threads = [thread for thread in run.threads if thread.count]
    edges = _edges(threads)
    columns = min(_COLUMNS, len(threads))
    rows = math.ceil(len(threads) / columns)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": _FRAME_PX + _PANEL_PX * rows,
        "showlegend": False,
        "annotations": [],
    }
    for number, thread in enumerate(threads):
        axis = "" if not number else str(number + 1)
        colour = _DIFFERENT if thread.cpu in different else _ALIKE
        traces += _panel(thread, edges, axis, colour)
        layout |= _axes(number, len(threads), columns, quantity)
        layout["annotations"].append(
            {
                "text": figure_text(thread_name(thread)),
                "xref": f"x{axis} domain",
                "yref": f"y{axis} domain",
                "x": 1,
                "y": 1,
                "xanchor": "right",
                "showarrow": False,
            }
        )
    note = "Samples by latency, one scale for all; a dot is one of the worst samples."
    if different:
        note += f" What differs has another colour: {format_cpu_list(different)}."
    return note, traces, layout


def _edges(threads: list[Thread]) -> list[float]:
    """Of the bins, in us; their ratio is constant."""
    arrays = [as_arrays(thread.histogram) for thread in threads]
    low = max(1, min(int(lower[0]) for lower, _, _ in arrays if len(lower)))
    high = max(int(last[-1]) for _, last, _ in arrays if len(last)) + 1
    found: list[float] = (np.geomspace(low, max(high, low + 1), _BINS + 1) / 1000).tolist()
    return found


def _panel(thread: Thread, edges: list[float], axis: str, colour: int) -> list[dict[str, Any]]:
    lower, _, count = as_arrays(thread.histogram)
    at = np.clip(lower / 1000, edges[0], edges[-1])
    held, _ = np.histogram(at, edges, weights=count)
    where = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "colour": colour}
    name = figure_text(thread_name(thread))
    return [
        {
            **where,
            "mode": "lines",
            "name": name,
            "x": edges,
            "y": [int(n) if n else None for n in [*held.tolist(), 0]],
            "line": {"shape": "hv"},
            "connectgaps": False,
            "hoverinfo": "x+y+name",
        },
        {
            **where,
            "mode": "markers",
            "name": name,
            "x": [sample.latency_ns / 1000 for sample in thread.worst],
            "y": [1 for _ in thread.worst],
            "text": [f"{format_ns(s.latency_ns)} at {s.time_ns / 1e9:.6f} s" for s in thread.worst],
            "hoverinfo": "text+name",
        },
    ]


def _axes(number: int, count: int, columns: int, quantity: str) -> dict[str, Any]:
    """Of one panel of `count`: its place in the grid, and the first panel's scale."""
    rows = math.ceil(count / columns)
    axis = "" if not number else str(number + 1)
    row, column = divmod(number, columns)
    width, height = 1 / columns, 1 / rows
    bottom = number + columns >= count
    x: dict[str, Any] = {
        "type": "log",
        "domain": [column * width + 0.02, (column + 1) * width - 0.02],
        "anchor": f"y{axis}",
        "title": {"text": f"{quantity} (us)" if bottom else ""},
        "showticklabels": bottom,
    }
    y: dict[str, Any] = {
        "type": "log",
        "domain": [1 - (row + 1) * height + 0.05, 1 - row * height - 0.03],
        "anchor": f"x{axis}",
        "title": {"text": "samples" if not column else ""},
        "showticklabels": not column,
        "tickvals": _POWERS,
        "ticktext": [f"{power:,}" for power in _POWERS],
    }
    if number:
        x["matches"], y["matches"] = "x", "y"
    return {f"xaxis{axis}": x, f"yaxis{axis}": y}
