# SPDX-License-Identifier: GPL-2.0-only
"""A run, and runs compared."""

import shlex
from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.requests import Request

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Thread
from rtscope.report.page.bins import drawing
from rtscope.report.page.chart import Chart, Mark, floats
from rtscope.report.page.distribution import Lines, over_time
from rtscope.report.page.exceedance import exceedance
from rtscope.report.page.explanations import ExplainedView, explained_views, ranked_views
from rtscope.report.page.marks import marks_of, view_of
from rtscope.report.page.metrics_rows import MetricsRow, metrics_rows
from rtscope.report.page.outliers import Worst, worst_samples
from rtscope.report.tables.response import response_table
from rtscope.serve.site import NotFoundError, Page, Site
from rtscope.statistics.alike import differences
from rtscope.statistics.comparison import compare_series
from rtscope.statistics.metrics import PERCENTS, metrics, percent_name
from rtscope.statistics.verdict import judge_by_own
from rtscope.wording.comparison import difference_sentence, verdict_of
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.groups import groups_of, metrics_of_group
from rtscope.wording.plain import plain
from rtscope.wording.run import caveats_of_all, missing_lines
from rtscope.wording.values import NOTHING, policies_text, policy_text, thread_name

_MOST_LINES: Final = 8
"""threads that are drawn one by one: those with the largest maxima"""
_MOST_BARS: Final = 600
"""in the timelines of all samples together, so that the page stays small"""
_MOST_COMPARED: Final = 4
_LABELS: Final = "ABCD"


class Outlier(msgspec.Struct, frozen=True):
    """One of the worst samples, with its explanation if there is one."""

    anchor: str
    worst: Worst
    told: ExplainedView | None


def run(site: Site, request: Request) -> Page:
    """One run. Raises RtscopeError."""
    found = site.run(request.path_params["run"])
    entry = site.index.entry(found.id)
    outliers = _outliers(found)
    charts, left_out = _charts([found], [""], outliers)
    rows, totals, missing = _tables(found)
    facts, details = fingerprint(found)
    known = [(name, value) for name, value in facts if value not in (NOTHING, "not known")]
    return Page(
        "run.html.jinja",
        plain(f"{found.probe} under {found.load} on {found.machine_name or 'an unnamed machine'}"),
        "runs",
        {
            "run": found,
            "entry": entry,
            "command": plain(shlex.join(found.asked.command)),
            "judgements": judge_by_own(found),
            "caveats": caveats_of_all([("", found)]),
            "charts": charts,
            "left_out": left_out,
            "rows": rows,
            "totals": totals,
            "missing": missing,
            "responses": response_table(found),
            "percents": [percent_name(percent) for percent in PERCENTS],
            "named": any(thread.name for thread in found.threads),
            "switches": len(found.threads) > 1,
            "quantity": view_of([found]).quantity,
            "outliers": outliers,
            "rankings": ranked_views(found),
            "facts": known,
            "details": details,
        },
        found,
    )


def _tables(run: Run) -> tuple[list[MetricsRow], list[MetricsRow], list[str]]:
    """Rows of the threads, rows of those put together, and which quantiles are not known."""
    groups = groups_of(run)
    totals = [(group.label, metrics_of_group(run, group)) for group in groups]
    rows = metrics_rows(
        [
            *((thread_name(one), policy_text(one), metrics(one)) for one in run.threads),
            *(
                (name, policies_text(group.threads), total)
                for (name, total), group in zip(totals, groups, strict=True)
                if not group.lone
            ),
        ]
    )
    count = len(run.threads)
    return rows[:count], rows[count:], missing_lines(totals)


def _outliers(run: Run) -> list[Outlier]:
    """The worst samples; those that are explained open their ledger."""
    views = explained_views(run, _MOST_BARS)
    told = {
        (one.time_ns, one.latency_ns): view
        for one, view in zip(run.explanations, views, strict=True)
    }
    return [
        Outlier(f"outlier-{number}", one, told.get((one.sample.time_ns, one.sample.latency_ns)))
        for number, one in enumerate(worst_samples(run), 1)
    ]


def _charts(
    runs: Sequence[Run], labels: Sequence[str], outliers: Sequence[Outlier] = ()
) -> tuple[list[Chart], int]:
    """Exceedance and latency over time, and how many threads are not drawn one by one."""
    one_by_one = _largest(runs[0].threads) if len(runs) == 1 else set[int]()
    drawn = drawing(runs, lambda thread, lone: id(thread) in one_by_one or (lone and len(runs) > 1))
    view = view_of(runs)
    lines = Lines(drawn, labels, view.quantity, marks_of(runs))
    charts = [exceedance(lines, runs, drawn.series)]
    if any(len(one.time.t) for one in drawn.series):
        chart = over_time(lines, ["log"])
        charts.append(_with_outliers(chart, outliers))
    left_out = sum(len(one.threads) for one in runs) - sum(not one.total for one in drawn.series)
    return charts, left_out


def _largest(threads: Sequence[Thread]) -> set[int]:
    """The id() of the threads with the largest maxima."""
    return {id(one) for one in sorted(threads, key=lambda one: -(one.max_ns or 0))[:_MOST_LINES]}


def _with_outliers(chart: Chart, outliers: Sequence[Outlier]) -> Chart:
    if not outliers:
        return chart
    mark = Mark(
        name="worst samples",
        x=floats([one.worst.sample.time_ns / 1e9 for one in outliers]),
        y=floats([one.worst.sample.latency_ns / 1000 for one in outliers]),
        shape="dots",
        colour=1,
        texts=[f"{one.worst.text}, {one.worst.where}" for one in outliers],
        links=[f"#{one.anchor}" for one in outliers],
    )
    panels = [msgspec.structs.replace(panel, marks=[*panel.marks, mark]) for panel in chart.panels]
    return msgspec.structs.replace(chart, panels=panels)


def compared(site: Site, request: Request) -> Page:
    """Two to four runs on the same axes. Raises RtscopeError."""
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(names) <= _MOST_COMPARED:
        raise NotFoundError(
            f"compare two to {_MOST_COMPARED} different runs: choose them in a list of runs"
        )
    runs = [site.run(name) for name in names]
    labels = list(_LABELS[: len(runs)])
    charts, _ = _charts(runs, labels)
    rows = metrics_rows(
        [
            (f"{label}, {group.label}", policies_text(group.threads), metrics_of_group(one, group))
            for label, one in zip(labels, runs, strict=True)
            for group in groups_of(one)
        ]
    )
    return Page(
        "compare.html.jinja",
        f"Compare {' and '.join(one.id[:8] for one in runs)}",
        "runs",
        {
            "runs": list(zip(labels, runs, strict=True)),
            "verdict": verdict_of(labels, runs),
            "charts": charts,
            "rows": rows,
            "percents": [percent_name(percent) for percent in PERCENTS],
            "quantity": view_of(runs).quantity,
            "differing": _differing(runs),
            "unlike": _unlike(runs),
            "caveats": caveats_of_all(list(zip(labels, runs, strict=True))),
            "commands": [plain(shlex.join(one.asked.command)) for one in runs],
        },
        {
            "runs": [one.id for one in runs],
            "comparisons": [_comparison(runs[0], other) for other in runs[1:]],
            "differing": [{"name": name, "values": values} for name, values in _differing(runs)],
        },
    )


def _unlike(runs: Sequence[Run]) -> list[str]:
    """How two runs were not measured alike, but for settings, which _differing has."""
    if len(runs) != 2:
        return []
    found = differences(runs[0], runs[1])
    return [difference_sentence(one) for one in found if one.kind != "setting"]


def _comparison(first: Run, other: Run) -> object:
    try:
        return compare_series(first, other)
    except RtscopeError as error:
        return str(error)


def _differing(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """What of machine, kernel and request differs: a name, and the value of each run."""
    facts = [dict(fingerprint(one)[0]) for one in runs]
    names = dict.fromkeys(name for one in facts for name in one)
    rows = [(name, [one.get(name, "–") for one in facts]) for name in names if name != "run"]
    return [(name, values) for name, values in rows if len(set(values)) > 1]
