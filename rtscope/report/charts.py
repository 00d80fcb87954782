"""The figures that only some probes have, as plotly's traces and layouts.

`colour` of a trace is an index into the page's colours, -1 for grey, and `dash` into its dashes;
everything else is plotly's. Names of machines and threads go through figure_text.
"""

import html
import re
from collections.abc import Collection, Sequence
from typing import Any, Final, NotRequired, TypedDict

import numpy as np

from rtscope.model.run import Run, Thread
from rtscope.report.chart import Chart
from rtscope.report.columns import Column
from rtscope.report.groups import figures_of_group, groups_of
from rtscope.report.matrices import matrix_chart
from rtscope.report.multiples import has_multiples, multiples
from rtscope.report.plots import figure_text, thread_colours, thread_key
from rtscope.report.probes import marks_of, view_of
from rtscope.report.words import count_text, policy_text, thread_name
from rtscope.statistics.figures import as_arrays

_BINS: Final = 300
_ROWS: Final = 200
_MOST_IN_PANELS: Final = 4
"""runs of a page whose CPUs are drawn beside each other"""
_AROUND: Final = 0.05
_AROUND_BINS: Final = 200
_RAN_ON: Final = re.compile(r"cpu([0-9]{1,4})")


class Labelled(TypedDict):
    """A run and what tells it from the others of the page; "" where it is alone."""

    label: str
    run: Run
    different: NotRequired[Collection[int]]
    """CPUs that its findings say differ from the rest"""


def charts_of(labelled: Sequence[Labelled]) -> list[Chart]:
    """The figures that these runs' probes have beside those that all have."""
    charts: list[Chart] = []
    for probe in dict.fromkeys(one["run"].probe for one in labelled):
        same = [one for one in labelled if one["run"].probe == probe and one["run"].threads]
        if probe in _MAKERS and same:
            charts.append(_MAKERS[probe](same))
        if probe == "cyclic" and len(same) <= _MOST_IN_PANELS:
            charts += [_each_cpu(one) for one in same if has_multiples(one["run"])]
        if probe == "migrate":
            charts += [_where(one) for one in same if _ran_on(one["run"])]
        charts += [
            matrix_chart(one["run"], matrix, one["label"])
            for one in same
            for matrix in one["run"].matrices
        ]
    drawn = [chart for chart in charts if chart["traces"]]
    for number, chart in enumerate(drawn):
        chart["id"] = f"chart-{number}"
    return drawn


def _each_cpu(one: Labelled) -> Chart:
    """The CPUs of a run beside each other."""
    note, traces, layout = multiples(
        one["run"], view_of([one["run"]]).quantity, one.get("different", ())
    )
    return {
        "id": "",
        "title": f"{one['label']}: each CPU" if one["label"] else "Each CPU",
        "note": note,
        "traces": traces,
        "layout": layout,
    }


def _name(one: Labelled, name: str) -> str:
    return figure_text(f"{one['label']}, {name}" if one["label"] else name)


def _cost(labelled: list[Labelled]) -> Chart:
    """What one reading of each clock costs, dearest last."""
    traces = []
    for number, one in enumerate(labelled):
        known = [
            (thread.facts["cost_ns"], thread.name)
            for thread in one["run"].threads
            if thread.facts.get("cost_ns", 0) > 0
        ]
        known.sort()
        if known:
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": one["label"] or "cost",
                    "colour": number,
                    "x": [cost for cost, _ in known],
                    "y": [figure_text(name) for _, name in known],
                    "text": [f"{cost:.4g} ns" for cost, _ in known],
                    "textposition": "auto",
                    "hoverinfo": "text+y",
                }
            )
    return {
        "id": "",
        "title": "Cost of reading each clock",
        "note": "Mean of many readings in a row, without the time in which something else ran.",
        "traces": traces,
        "layout": {
            "xaxis": {"title": {"text": "one reading (ns)"}, "rangemode": "tozero"},
            "yaxis": {"type": "category"},
            "barmode": "group",
        },
    }


def _around(labelled: list[Labelled]) -> Chart:
    """Periods near the one asked for, with the thresholds."""
    traces: list[dict[str, Any]] = []
    colours = thread_colours([one["run"] for one in labelled])
    beyond = []
    interval = max(one["run"].asked.interval_ns or 0 for one in labelled)
    low, high = round(interval * (1 - _AROUND)), round(interval * (1 + _AROUND))
    edges = np.linspace(low, high, _AROUND_BINS + 1)
    for number, one in enumerate(labelled):
        for thread in one["run"].threads:
            lower, _, count = as_arrays(thread.histogram)
            held, _ = np.histogram(lower, edges, weights=count)
            outside = thread.count - int(held.sum())
            name = _name(one, thread_name(thread))
            if outside:
                beyond.append(f"{html.unescape(name)} {outside:,} of {thread.count:,}")
            traces.append(
                {
                    "mode": "lines",
                    "name": name,
                    "colour": colours[thread_key(thread)],
                    "dash": number % 6,
                    "x": (edges / 1000).tolist(),
                    "y": [*held.tolist(), 0],
                    "line": {"shape": "hv"},
                }
            )
    highest = max((max(trace["y"]) for trace in traces), default=0)
    for dash, mark in enumerate(marks_of([one["run"] for one in labelled]), 1):
        traces.append(
            {
                "mode": "lines",
                "name": mark["text"],
                "colour": -1,
                "dash": dash % 6,
                "x": [mark["at"], mark["at"]],
                "y": [0, highest],
            }
        )
    within = f"within {_AROUND * 100:g} % of the period asked for"
    return {
        "id": "",
        "title": f"Periods {within}",
        "note": f"Not {within}: {'; '.join(beyond)}." if beyond else f"All were {within}.",
        "traces": traces if interval else [],
        "layout": {
            "xaxis": {"title": {"text": "period (us)"}, "range": [low / 1000, high / 1000]},
            "yaxis": {"title": {"text": "periods"}, "rangemode": "tozero"},
        },
    }


def _stolen(labelled: list[Labelled]) -> Chart:
    """Share of each CPU's time that went to gaps."""
    traces = []
    colours = thread_colours([one["run"] for one in labelled])
    for number, one in enumerate(labelled):
        for thread in one["run"].threads:
            t, share = _stolen_share(thread)
            if t:
                traces.append(
                    {
                        "mode": "lines",
                        "name": _name(one, thread_name(thread)),
                        "colour": colours[thread_key(thread)],
                        "dash": number % 6,
                        "x": t,
                        "y": share,
                        "line": {"shape": "vh"},
                    }
                )
    return {
        "id": "",
        "title": "Stolen time",
        "note": "Time in gaps as a share of each CPU's time; a gap counts where it ends.",
        "traces": traces,
        "layout": {
            "xaxis": {"title": {"text": "since the start (s)"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": "stolen (%)"}, "rangemode": "tozero"},
        },
    }


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


def _figures(labelled: list[Labelled]) -> Chart:
    """The series beside each other, figure by figure."""
    quantity = view_of([one["run"] for one in labelled]).quantity
    rows = [
        (_name(one, group.label), figures_of_group(one["run"], group))
        for one in labelled
        for group in groups_of(one["run"])
    ]
    kinds: list[tuple[str, list[float | None]]] = [
        ("min", [total.min_ns for _, total in rows]),
        ("mean", [total.mean_ns for _, total in rows]),
        ("p99", [total.quantile(99.0).value_ns for _, total in rows]),
        ("p99.9", [total.quantile(99.9).value_ns for _, total in rows]),
        ("max", [total.max_ns for _, total in rows]),
    ]
    names = [name for name, _ in rows]
    lines: list[dict[str, Any]] = [
        {
            "mode": "lines",
            "name": mark["text"],
            "colour": -1,
            "dash": dash % 6,
            "x": names,
            "y": [mark["at"]] * len(names),
        }
        for dash, mark in enumerate(marks_of([one["run"] for one in labelled]), 1)
    ]
    return {
        "id": "",
        "title": "Side by side",
        "note": "",
        "traces": [
            {
                "mode": "markers",
                "name": kind,
                "colour": number,
                "x": names,
                "y": [None if ns is None else ns / 1000 for ns in values],
            }
            for number, (kind, values) in enumerate(kinds)
            if any(values)
        ]
        + lines,
        "layout": {
            "xaxis": {"type": "category"},
            "yaxis": {"title": {"text": f"{quantity} (us)"}, "type": "log"},
        },
    }


def _ran_on(run: Run) -> list[str]:
    """The facts that count on which CPU a thread ran, by CPU."""
    keys = {key for thread in run.threads for key in thread.facts if _RAN_ON.fullmatch(key)}
    others = {key for thread in run.threads for key in thread.facts if key == "other_cpus"}
    return [*sorted(keys, key=lambda key: int(key[3:])), *others]


def _where(one: Labelled) -> Chart:
    """How often each thread ran on each CPU."""
    run = one["run"]
    keys = _ran_on(run)
    counts = [[thread.facts.get(key, 0.0) for key in keys] for thread in run.threads]
    return {
        "id": "",
        "title": f"{one['label']}: which thread ran where"
        if one["label"]
        else "Which thread ran where",
        "note": "Rounds in which a thread ran on a CPU, the thread of highest priority first.",
        "traces": [
            {
                "type": "heatmap",
                "x": [f"CPU {key[3:]}" if key != "other_cpus" else "others" for key in keys],
                "y": [figure_text(f"{thread_name(t)}, {policy_text(t)}") for t in run.threads],
                "z": counts,
                "text": [[count_text(int(count)) for count in row] for row in counts],
                "texttemplate": "%{text}",
                "hoverinfo": "x+y+text",
                "colorscale": "Blues",
                "reversescale": True,
                "showscale": False,
            }
        ],
        "layout": {
            "xaxis": {"type": "category"},
            "yaxis": {"type": "category", "autorange": "reversed"},
        },
    }


_MAKERS: Final = {
    "async": _figures,
    "daq": _figures,
    "event": _figures,
    "gtod": _cost,
    "loop": _around,
    "noise": _stolen,
    "pi": _figures,
    "signal": _figures,
}


def by_microsecond(run: Run) -> tuple[list[Column], int]:
    """Samples by whole microseconds, as the Celleb report prints them, and rows left out.

    One column a thread; rows without a sample are not there.
    """
    counts: list[dict[int, int]] = []
    for thread in run.threads:
        lower, _, count = as_arrays(thread.histogram)
        rows, place = np.unique(lower // 1000, return_inverse=True)
        sums = np.bincount(place, count, len(rows)).astype(np.int64)
        counts.append(dict(zip(rows.tolist(), sums.tolist(), strict=True)))
    filled = sorted({row for held in counts for row in held})
    shown = filled[:_ROWS]
    columns = [
        Column("us", 0, [f"{row:,}" for row in shown]),
        *(
            Column(thread_name(thread), place, [f"{held.get(row, 0):,}" for row in shown])
            for place, (thread, held) in enumerate(zip(run.threads, counts, strict=True), 1)
        ),
    ]
    return columns, len(filled) - len(shown)
