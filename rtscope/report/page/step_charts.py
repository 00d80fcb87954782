# SPDX-License-Identifier: GPL-2.0-only
"""A row of histograms: a panel for each step of a tuning profile, a line for each CPU."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rtscope.model.run import Run, Thread
from rtscope.report.page.chart import Axis, Chart, Mark, Panel, axis, floats
from rtscope.report.page.scale import Scale, logarithmic, ticks
from rtscope.statistics.metrics import as_arrays, merge
from rtscope.statistics.steps import StepResult, Steps
from rtscope.wording.steps import steps_title

_BINS: Final = 120
_TICKS: Final = 5
_HEIGHT: Final = 13.0
_NOTHING: Final = 0.1


def step_chart(steps: Steps, runs: Sequence[Run], chart_id: str) -> Chart | None:
    """The panels of these steps, whose runs are among `runs`; None where there is no histogram."""
    by_id = {run.id: run for run in runs}
    held = [_histograms(result, by_id) for result in steps.results]
    ends = [edge for panel in held for lower, last, _ in panel.values() for edge in (lower, last)]
    filled = [edge for edge in ends if len(edge)]
    if not filled:
        return None
    lowest = max(1, min(int(edge[0]) for edge in filled))
    highest = max(int(edge[-1]) for edge in filled) + 1
    edges = np.geomspace(lowest, max(highest, lowest + 1), _BINS + 1)
    cpus = sorted({cpu for panel in held for cpu in panel})
    marks: list[list[Mark]] = []
    for panel in held:
        marks.append([])
        for colour, cpu in enumerate(cpus):
            if cpu not in panel:
                continue
            lower, _, count = panel[cpu]
            counts, _ = np.histogram(np.clip(lower, lowest, None), edges, weights=count)
            marks[-1].append(
                Mark(
                    name=f"CPU {cpu}" if cpu >= 0 else "not pinned",
                    x=edges / 1000,
                    y=floats([*np.where(counts > 0, counts, _NOTHING), _NOTHING]),
                    shape="hv",
                    colour=colour,
                )
            )
    most = max(float(mark.y.max()) for panel in marks for mark in panel)
    up = Scale(0.7, max(most, 3) * 2, log=True)
    x = axis("latency (us)", logarithmic(edges[0] / 1000, edges[-1] / 1000), "us", _TICKS)
    y = Axis("samples", up, ticks(up, _TICKS), "samples")
    return Chart(
        id=chart_id,
        title=steps_title(steps),
        note="Samples by latency of all rounds together, one line a CPU; both axes logarithmic.",
        panels=[
            Panel(x=x, y=y, marks=drawn, title=result.name, height=_HEIGHT)
            for result, drawn in zip(steps.results, marks, strict=True)
        ],
    )


def _histograms(result: StepResult, by_id: dict[str, Run]) -> dict[int, tuple[Any, Any, Any]]:
    """Lowest and highest value in ns and count of the buckets, by CPU; -1: not pinned."""
    held: dict[int, list[Thread]] = {}
    for name in result.runs:
        for thread in by_id[name].threads:
            held.setdefault(-1 if thread.cpu is None else thread.cpu, []).append(thread)
    return {
        cpu: as_arrays(merge([thread.histogram for thread in threads]))
        for cpu, threads in held.items()
    }
