"""A row of histograms, one panel a step and one line a CPU, as the multicore report has them."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rtscope.model.run import Run, Thread
from rtscope.report.chart import Chart
from rtscope.report.plots import figure_text
from rtscope.report.tuning import steps_title
from rtscope.statistics.figures import as_arrays, merge
from rtscope.statistics.steps import StepResult, Steps

_BINS: Final = 120
_COLUMNS: Final = 4
_PANEL_PX: Final = 260
_FRAME_PX: Final = 110


def step_chart(steps: Steps, runs: Sequence[Run], chart_id: str) -> Chart | None:
    """The panels of these steps, whose runs are among `runs`; None where there is no histogram."""
    by_id = {run.id: run for run in runs}
    panels = [_histograms(result, by_id) for result in steps.results]
    ends = [edge for panel in panels for lower, last, _ in panel.values() for edge in (lower, last)]
    filled = [edge for edge in ends if len(edge)]
    if not filled:
        return None
    lowest = max(1, min(int(edge[0]) for edge in filled))
    highest = max(int(edge[-1]) for edge in filled) + 1
    edges = np.geomspace(lowest, max(highest, lowest + 1), _BINS + 1)
    cpus = sorted({cpu for panel in panels for cpu in panel})
    traces: list[dict[str, Any]] = []
    for number, panel in enumerate(panels, 1):
        place = "" if number == 1 else str(number)
        for colour, cpu in enumerate(cpus):
            if cpu not in panel:
                continue
            lower, _, count = panel[cpu]
            held, _ = np.histogram(np.clip(lower, lowest, None), edges, weights=count)
            traces.append(
                {
                    "mode": "lines",
                    "name": f"CPU {cpu}" if cpu >= 0 else "not pinned",
                    "legendgroup": str(cpu),
                    "showlegend": number == 1,
                    "colour": colour,
                    "x": np.round(edges / 1000, 4).tolist(),
                    # A logarithmic axis has no 0: an empty bin falls below the axis.
                    "y": [0.1 if not n else float(n) for n in held] + [0.1],
                    "line": {"shape": "hv"},
                    "xaxis": f"x{place}",
                    "yaxis": f"y{place}",
                }
            )
    most = max(max(trace["y"]) for trace in traces)
    return {
        "id": chart_id,
        "title": steps_title(steps),
        "note": "Samples by latency of all rounds together, one line a CPU; both axes logarithmic.",
        "traces": traces,
        "layout": _layout([result.name for result in steps.results], lowest, highest, most),
    }


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


def _layout(names: Sequence[str], lowest: int, highest: int, most: float) -> dict[str, Any]:
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    layout: dict[str, Any] = {
        "grid": {"rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.35},
        "height": _FRAME_PX + _PANEL_PX * rows,
        "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
        "annotations": [],
    }
    for number, name in enumerate(names, 1):
        place = "" if number == 1 else str(number)
        layout["annotations"].append(
            {
                "text": figure_text(name),
                "showarrow": False,
                "xref": f"x{place} domain",
                "yref": f"y{place} domain",
                "x": 0.02,
                "y": 1.1,
                "xanchor": "left",
            }
        )
        layout[f"xaxis{place}"] = {
            "type": "log",
            "range": [float(np.log10(lowest / 1000)), float(np.log10(highest / 1000))],
            "title": {"text": "latency (us)"},
        }
        powers = range(8)
        layout[f"yaxis{place}"] = {
            "type": "log",
            "range": [float(np.log10(0.7)), float(np.log10(most)) + 0.2],
            "tickvals": [10**power for power in powers],
            "ticktext": [f"{10**power:,}" for power in powers],
        } | ({"title": {"text": "samples"}} if number % columns == 1 or columns == 1 else {})
        if number > 1:
            layout[f"yaxis{place}"]["matches"] = "y"
    return layout
