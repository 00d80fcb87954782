# SPDX-License-Identifier: GPL-2.0-only
"""The charts that only some probes have."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

import msgspec
import numpy as np

from rtscope.model.run import Run, Thread
from rtscope.report.page.bins import thread_colours, thread_key
from rtscope.report.page.chart import (
    Bars,
    Chart,
    Heat,
    Mark,
    Panel,
    axis,
    floats,
    row_axis,
    rule,
)
from rtscope.report.page.marks import marks_of, view_of
from rtscope.report.page.matrix_charts import matrix_chart
from rtscope.report.page.multiples import has_multiples, multiples
from rtscope.report.page.scale import Scale, linear, logarithmic
from rtscope.statistics.metrics import as_arrays
from rtscope.wording.groups import groups_of, metrics_of_group
from rtscope.wording.values import count_text, policy_text, thread_name

_BINS: Final = 300
_MOST_IN_PANELS: Final = 4
"""runs of a page whose CPUs are drawn in panels"""
_AROUND: Final = 0.05
_AROUND_BINS: Final = 200
_ROW_REM: Final = 2.0
_RAN_ON: Final = re.compile(r"cpu([0-9]{1,4})")


class Labelled(msgspec.Struct, frozen=True):
    """A run and its label among the runs of the page; "" where it is alone."""

    label: str
    run: Run
    different: Collection[int] = ()
    """CPUs that its findings say differ from the rest"""


def charts_of(labelled: Sequence[Labelled]) -> list[Chart]:
    """The charts that these runs' probes have in addition to those that all have."""
    charts: list[Chart] = []
    for probe in dict.fromkeys(one.run.probe for one in labelled):
        same = [one for one in labelled if one.run.probe == probe and one.run.threads]
        if probe in _MAKERS and same:
            charts.append(_MAKERS[probe](same))
        if probe == "cyclic" and len(same) <= _MOST_IN_PANELS:
            charts += [_each_cpu(one) for one in same if has_multiples(one.run)]
        if probe == "migrate":
            charts += [_where(one) for one in same if _ran_on(one.run)]
        charts += [
            matrix_chart(one.run, matrix, one.label) for one in same for matrix in one.run.matrices
        ]
    return numbered(charts)


def numbered(charts: Sequence[Chart]) -> list[Chart]:
    """The charts that have something to draw, each with an id."""
    drawn = [chart for chart in charts if chart.heat or chart.marks or chart.bars]
    return [
        msgspec.structs.replace(chart, id=f"chart-{number}") for number, chart in enumerate(drawn)
    ]


def _each_cpu(one: Labelled) -> Chart:
    chart = multiples(one.run, view_of([one.run]).quantity, one.different)
    if not one.label:
        return chart
    return msgspec.structs.replace(chart, title=f"{one.label}: each CPU")


def _name(one: Labelled, name: str) -> str:
    return f"{one.label}, {name}" if one.label else name


def _cost(labelled: Sequence[Labelled]) -> Chart:
    """What one reading of each clock costs, dearest last."""
    costs = [
        {t.name: t.metrics["cost_ns"] for t in one.run.threads if t.metrics.get("cost_ns", 0) > 0}
        for one in labelled
    ]
    most = {name: max(cost.get(name, 0) for cost in costs) for cost in costs for name in cost}
    names = sorted(most, key=lambda name: most[name])
    bars = [
        Bars(
            name=one.label or "cost",
            rows=[names.index(name) for name in cost],
            start=[0.0] * len(cost),
            end=[*cost.values()],
            slot=number,
            slots=len(labelled),
            colour=number,
            labels=[f"{ns:.4g} ns" for ns in cost.values()],
        )
        for number, (one, cost) in enumerate(zip(labelled, costs, strict=True))
        if cost
    ]
    panel = Panel(
        x=axis("one reading (ns)", linear(max(most.values(), default=1.0)), "ns"),
        y=row_axis(names),
        bars=bars,
        height=_ROW_REM * max(1, len(labelled) * 0.6) * len(names),
    )
    return Chart(
        title="Cost of reading each clock",
        note="Mean of many readings in a row, without the time in which something else ran.",
        panels=[panel],
    )


def _around(labelled: Sequence[Labelled]) -> Chart:
    """Periods near the one asked for, with the thresholds."""
    within = f"within {_AROUND * 100:g} % of the period asked for"
    title = f"Periods {within}"
    runs = [one.run for one in labelled]
    interval = max(run.asked.interval_ns or 0 for run in runs)
    if not interval:
        return Chart(title=title)
    low, high = round(interval * (1 - _AROUND)), round(interval * (1 + _AROUND))
    edges = np.linspace(low, high, _AROUND_BINS + 1)
    colours = thread_colours(runs)
    marks, beyond = [], []
    for number, one in enumerate(labelled):
        for thread in one.run.threads:
            lower, _, count = as_arrays(thread.histogram)
            held, _ = np.histogram(lower, edges, weights=count)
            outside = thread.count - int(held.sum())
            name = _name(one, thread_name(thread))
            if outside:
                beyond.append(f"{name} {outside:,} of {thread.count:,}")
            marks.append(
                Mark(
                    name=name,
                    x=edges / 1000,
                    y=floats([*held, 0]),
                    shape="hv",
                    colour=colours[thread_key(thread)],
                    dash=number,
                )
            )
    highest = max((float(mark.y.max()) for mark in marks), default=1.0)
    marks += [
        rule(mark["text"], mark["at"], 0, highest, upright=True, dash=dash)
        for dash, mark in enumerate(marks_of(runs), 1)
        if low <= mark["at"] * 1000 <= high
    ]
    panel = Panel(
        x=axis("period (us)", Scale(low / 1000, high / 1000), "us"),
        y=axis("periods", linear(highest), "periods"),
        marks=marks,
    )
    note = f"Not {within}: {'; '.join(beyond)}." if beyond else f"All were {within}."
    return Chart(title=title, note=note, panels=[panel])


def _stolen(labelled: Sequence[Labelled]) -> Chart:
    """Share of each CPU's time that went to gaps."""
    colours = thread_colours([one.run for one in labelled])
    marks = []
    for number, one in enumerate(labelled):
        for thread in one.run.threads:
            t, share = _stolen_share(thread)
            if t:
                marks.append(
                    Mark(
                        name=_name(one, thread_name(thread)),
                        x=floats(t),
                        y=floats(share),
                        shape="vh",
                        colour=colours[thread_key(thread)],
                        dash=number,
                    )
                )
    end = max((float(mark.x[-1]) for mark in marks), default=1.0)
    most = max((float(mark.y.max()) for mark in marks), default=1.0)
    panel = Panel(
        x=axis("since the start (s)", linear(end), "s"),
        y=axis("stolen (%)", linear(most), "%"),
        marks=marks,
    )
    return Chart(
        title="Stolen time",
        note="Time in gaps as a share of each CPU's time; a gap counts where it ends.",
        panels=[panel],
    )


def _stolen_share(thread: Thread) -> tuple[list[float], list[float]]:
    """Seconds since the start, and the percentage stolen since the ones before."""
    windows = thread.windows
    if not windows.end_ns:
        return [], []
    end = np.array([0, *windows.end_ns], dtype=np.int64)
    stolen = np.array(windows.count, dtype=np.float64) * np.array(windows.mean_ns)
    starts = np.linspace(0, len(stolen), min(_BINS, len(stolen)), endpoint=False).astype(int)
    ends = end[np.r_[starts[1:], len(stolen)]]
    share = np.add.reduceat(stolen, starts) / np.maximum(ends - end[starts], 1) * 100
    share = np.round(share, 4).tolist()
    return [0, *np.round(ends / 1e9, 4).tolist()], [share[0], *share]


def _metric_dots(labelled: Sequence[Labelled]) -> Chart:
    """A row for each series with a dot for each of its figures."""
    runs = [one.run for one in labelled]
    rows = [
        (_name(one, group.label), metrics_of_group(one.run, group))
        for one in labelled
        for group in groups_of(one.run)
    ]
    kinds: list[tuple[str, list[float | None]]] = [
        ("min", [total.min_ns for _, total in rows]),
        ("mean", [total.mean_ns for _, total in rows]),
        ("p99", [total.quantile(99.0).value_ns for _, total in rows]),
        ("p99.9", [total.quantile(99.9).value_ns for _, total in rows]),
        ("max", [total.max_ns for _, total in rows]),
    ]
    marks = []
    for number, (kind, values) in enumerate(kinds):
        known = [(ns / 1000, row + 0.5) for row, ns in enumerate(values) if ns]
        if known:
            x, y = zip(*known, strict=True)
            marks.append(Mark(name=kind, x=floats(x), y=floats(y), shape="dots", colour=number))
    if not marks:
        return Chart(title="Side by side")
    lines = marks_of(runs)
    times = [float(us) for mark in marks for us in mark.x] + [one["at"] for one in lines]
    marks += [
        rule(one["text"], one["at"], 0, len(rows), upright=True, dash=dash)
        for dash, one in enumerate(lines, 1)
    ]
    panel = Panel(
        x=axis(f"{view_of(runs).quantity} (us)", logarithmic(min(times), max(times)), "us"),
        y=row_axis([name for name, _ in rows]),
        marks=marks,
        height=_ROW_REM * len(rows),
    )
    return Chart(title="Side by side", panels=[panel])


def _ran_on(run: Run) -> list[str]:
    """The metrics that count on which CPU a thread ran, by CPU."""
    keys = {key for thread in run.threads for key in thread.metrics if _RAN_ON.fullmatch(key)}
    others = {key for thread in run.threads for key in thread.metrics if key == "other_cpus"}
    return [*sorted(keys, key=lambda key: int(key[3:])), *others]


def _where(one: Labelled) -> Chart:
    """How often each thread ran on each CPU."""
    run = one.run
    keys = _ran_on(run)
    counts = [[thread.metrics.get(key, 0.0) for key in keys] for thread in run.threads]
    most = max((count for row in counts for count in row), default=0.0) or 1.0
    heat = Heat(
        "CPU",
        "thread",
        [f"CPU {key[3:]}" if key != "other_cpus" else "others" for key in keys],
        [f"{thread_name(t)}, {policy_text(t)}" for t in run.threads],
        [[count_text(int(count)) for count in row] for row in counts],
        [[count / most for count in row] for row in counts],
    )
    title = "Which thread ran where"
    return Chart(
        title=f"{one.label}: {title[0].lower()}{title[1:]}" if one.label else title,
        note="Rounds in which a thread ran on a CPU, the thread of highest priority first.",
        heat=heat,
    )


_MAKERS: Final[dict[str, Callable[[Sequence[Labelled]], Chart]]] = {
    "async": _metric_dots,
    "daq": _metric_dots,
    "event": _metric_dots,
    "gtod": _cost,
    "loop": _around,
    "noise": _stolen,
    "pi": _metric_dots,
    "signal": _metric_dots,
}
