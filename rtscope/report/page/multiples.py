# SPDX-License-Identifier: GPL-2.0-only
"""Small multiples: a run's CPUs in panels of one scale, those that differ in another colour."""

from collections.abc import Collection
from typing import Final

import numpy as np

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.run import Run, Thread
from rtscope.report.page.chart import Axis, Chart, Mark, Panel, axis, floats
from rtscope.report.page.scale import Scale, logarithmic, ticks
from rtscope.statistics.metrics import as_arrays
from rtscope.wording.values import thread_name

_BINS: Final = 80
_MOST: Final = 64
"""panels; more than these are too small to see"""
_TICKS: Final = 5
_HEIGHT: Final = 8.5
_NOTHING: Final = 0.1
_ALIKE: Final = 0
_DIFFERENT: Final = 1
"""indexes of colours"""


def has_multiples(run: Run) -> bool:
    """Whether the run has several CPUs that can be compared."""
    threads = [thread for thread in run.threads if thread.count]
    return 2 <= len(threads) <= _MOST and all(t.cpu is not None and not t.name for t in threads)


def multiples(run: Run, quantity: str, different: Collection[int]) -> Chart:
    """A panel for each CPU. `different` are the CPUs to be marked."""
    threads = [thread for thread in run.threads if thread.count]
    edges = _edges(threads)
    held = [_counts(thread, edges) for thread in threads]
    counts = Scale(0.7, 2 * max(3, *(int(count.max()) for count in held)), log=True)
    x = axis(f"{quantity} (us)", logarithmic(edges[0], edges[-1]), "us", _TICKS)
    y = Axis("samples", counts, ticks(counts, _TICKS), "samples")
    panels = [
        Panel(
            x=x,
            y=y,
            marks=_marks(thread, edges, count, thread.cpu in different),
            title=thread_name(thread),
            height=_HEIGHT,
        )
        for thread, count in zip(threads, held, strict=True)
    ]
    note = "Samples by latency, the same scale for all; a dot is one of the worst samples."
    if different:
        note += f" What differs has another colour: {format_cpu_list(different)}."
    return Chart(title="Each CPU", note=note, panels=panels)


def _edges(threads: list[Thread]) -> list[float]:
    """Edges of the bins in us; their ratio is constant."""
    arrays = [as_arrays(thread.histogram) for thread in threads]
    low = max(1, min((int(lower[0]) for lower, _, _ in arrays if len(lower)), default=1))
    high = max((int(last[-1]) for _, last, _ in arrays if len(last)), default=1) + 1
    found: list[float] = (np.geomspace(low, max(high, low + 1), _BINS + 1) / 1000).tolist()
    return found


def _counts(thread: Thread, edges: list[float]) -> np.ndarray:
    lower, _, count = as_arrays(thread.histogram)
    held, _ = np.histogram(np.clip(lower / 1000, edges[0], edges[-1]), edges, weights=count)
    return held


def _marks(thread: Thread, edges: list[float], counts: np.ndarray, differs: bool) -> list[Mark]:
    colour = _DIFFERENT if differs else _ALIKE
    name = thread_name(thread)
    steps = np.where(counts > 0, counts, _NOTHING)
    worst = [sample.latency_ns / 1000 for sample in thread.worst]
    return [
        Mark(
            name=name,
            x=floats([edges[0], *edges]),
            y=floats([_NOTHING, *steps, _NOTHING]),
            shape="hv",
            colour=colour,
            legend=False,
        ),
        Mark(
            name=name,
            x=floats(worst),
            y=floats([1] * len(worst)),
            shape="dots",
            colour=colour,
            legend=False,
        ),
    ]
