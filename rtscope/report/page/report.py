# SPDX-License-Identifier: GPL-2.0-only
"""What the page of one or several runs shows."""

import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.quantity import LATENCY
from rtscope.model.reference import Reference, Table
from rtscope.model.run import Run
from rtscope.model.units import format_duration_ns
from rtscope.report.page.bins import drawing
from rtscope.report.page.chart import Chart
from rtscope.report.page.distribution import Lines, shared_charts
from rtscope.report.page.explanations import (
    ExplainedView,
    RankedView,
    explained_views,
    ranked_views,
)
from rtscope.report.page.marks import marks_of, view_of
from rtscope.report.page.metrics_rows import MetricsRow, metrics_rows
from rtscope.report.page.outliers import Worst, worst_samples
from rtscope.report.page.placement_comparison import placement_comparison_page
from rtscope.report.page.placement_series import placement_page
from rtscope.report.page.probe_charts import Labelled, charts_of, numbered
from rtscope.report.page.reference_charts import samples_chart
from rtscope.report.page.render import render_page
from rtscope.report.page.step_charts import step_chart
from rtscope.report.page.tail_charts import tail_charts
from rtscope.report.tables.column import Column
from rtscope.report.tables.ensemble import member_columns
from rtscope.report.tables.matrices import matrix_columns
from rtscope.report.tables.metrics import metrics_columns
from rtscope.report.tables.microseconds import by_microsecond
from rtscope.report.tables.programs import programs_columns
from rtscope.report.tables.references import columns_beside
from rtscope.report.tables.response import response_table, responses_side_by_side
from rtscope.report.tables.steps import step_columns
from rtscope.report.tables.waiters import waiters_columns
from rtscope.statistics.metrics import PERCENTS, Metrics, metrics, percent_name
from rtscope.statistics.reference import beside, column_label, tables_beside
from rtscope.statistics.steps import steps_among
from rtscope.statistics.verdict import Judgement
from rtscope.wording.comparison import verdict_of
from rtscope.wording.ensemble import member_lines
from rtscope.wording.findings import Sentence, sentences_of
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.groups import groups_of, metrics_of_group
from rtscope.wording.matrices import matrix_title
from rtscope.wording.plain import plain
from rtscope.wording.references import (
    beside_lines,
    citation,
    column_lines,
    entry_lines,
    properties_of,
)
from rtscope.wording.run import (
    caveats_of_all,
    instructions_line,
    load_lines,
    missing_lines,
    phases_line,
    quantity_text,
)
from rtscope.wording.steps import step_lines, steps_title
from rtscope.wording.values import (
    policies_text,
    policy_text,
    span_text,
    thread_name,
)

_EACH: Final = 16
"""threads of a run that are drawn one by one at first"""
_UNFOLDED: Final = 4
"""runs of which everything is open to see"""


class _ReferenceView(msgspec.Struct, frozen=True):
    """A published table followed by ours, for the template."""

    table: Table
    columns: list[Column]
    ours: list[str]
    said: list[str]
    known: list[str]
    chart: Chart | None


class _StepsView(msgspec.Struct, frozen=True):
    """What the steps of a tuning profile bought, as the template prints it."""

    title: str
    columns: list[Column]
    lines: list[str]
    chart: Chart | None


class _View(msgspec.Struct, frozen=True):
    """One run as the template prints it."""

    label: str
    run: Run
    name: str
    """with the label, its distinction from the page's other runs"""
    title: str
    subtitle: str
    found: list[Sentence]
    judgements: Sequence[Judgement]
    rows: list[MetricsRow]
    totals: list[MetricsRow]
    """of the threads that can be put together"""
    missing: list[str]
    instructions: str
    members: list[Column]
    member_lines: list[str]
    metrics_table: list[Column]
    waiters: list[Column]
    programs: list[Column]
    matrices: list[tuple[str, list[Column]]]
    by_microsecond: list[Column]
    rows_left_out: int
    loads: list[str]
    phases: str
    worst: list[Worst]
    rankings: list[RankedView]
    explanations: list[ExplainedView]
    command: str
    quantity: str
    facts: list[tuple[str, str]]
    details: list[tuple[str, list[str]]]


def html_report(
    runs: Sequence[Run],
    judgements: Sequence[Sequence[Judgement]] = (),
    reference: Reference | None = None,
) -> str:
    """The page. `judgements` holds one list for each run, in order, or nothing.

    Raises RtscopeError where a run's counts are impossible, or no table of `reference` was measured
    as one of the runs.
    """
    if runs and all(run.placement_series for run in runs) and not reference:
        return placement_page(runs[0]) if len(runs) == 1 else placement_comparison_page(runs)
    judged = [*judgements, *([()] * (len(runs) - len(judgements)))]
    views = [
        _view(column_label(index), run, verdicts)
        for index, (run, verdicts) in enumerate(zip(runs, judged, strict=True))
    ]
    drawn = drawing(runs)
    lines = drawn.series
    labels = [view.label for view in views]
    labelled = [
        Labelled(
            view.label if len(views) > 1 else "",
            view.run,
            [found.cpu for found in view.found if found.cpu is not None],
        )
        for view in views
    ]
    published = _beside(reference, runs) if reference else []
    stepped = _steps(runs)
    kind = view_of(runs)
    verdict = verdict_of(labels, runs) if 2 <= len(runs) <= _UNFOLDED else None
    return render_page(
        "report.html.jinja",
        views=views,
        folded=len(views) > _UNFOLDED,
        shared_subtitle="".join(_shared([[view.subtitle] for view in views])),
        caveats=caveats_of_all([(view.label, view.run) for view in views]),
        verdict=verdict,
        side_by_side=metrics_rows([one for view in views for one in _of_all(view)]),
        responses_side_by_side=responses_side_by_side([(view.name, view.run) for view in views]),
        quantity=kind.quantity,
        lines="each"
        if sum(len(run.threads) for run in runs) <= _EACH and len(runs) == 1
        else "all",
        shared_charts=shared_charts(Lines(drawn, labels, kind.quantity, marks_of(runs))),
        charts=numbered([*charts_of(labelled), *tail_charts(labelled)]),
        charts_first=all(run.matrices for run in runs),
        reference=reference,
        citation=citation(reference) if reference else "",
        reference_facts=properties_of(reference) if reference else [],
        beside=published,
        stepped=stepped,
        named=any(thread.name for run in runs for thread in run.threads),
        percents=[percent_name(percent) for percent in PERCENTS],
        has_totals=any(line.total for line in lines),
        has_histogram=any(len(line.curve.x) for line in lines),
        has_windows=any(len(line.time.t) for line in lines),
        has_samples=any(thread.count for run in runs for thread in run.threads),
    )


def _of_all(view: _View) -> list[tuple[str, str, Metrics]]:
    """A run's rows in the table of all runs."""
    return [
        (view.name if row.name == "all" else f"{view.name}, {row.name}", row.policy, row.metrics)
        for row in view.totals
    ]


def _shared(lists: Sequence[Sequence[str]]) -> list[str]:
    """What all of the lists hold, in the order of the first."""
    first = lists[0] if lists else []
    return [text for text in first if all(text in other for other in lists)]


def _view(label: str, run: Run, judgements: Sequence[Judgement]) -> _View:
    groups = groups_of(run)
    totals = [(group.label, metrics_of_group(run, group)) for group in groups]
    rows = metrics_rows(
        [
            *((thread_name(t), policy_text(t), metrics(t)) for t in run.threads),
            *(
                (name, policies_text(group.threads), total)
                for (name, total), group in zip(totals, groups, strict=True)
                if not group.lone
            ),
        ]
    )
    columns, left_out = by_microsecond(run) if run.probe == "gtod" else ([], 0)
    facts, details = fingerprint(run)
    where = [run.machine_name, run.machine.cpu_model, run.machine.kernel_release]
    quantity = quantity_text(run)
    what = "" if quantity == LATENCY else f" ({quantity})"
    how = [f"{plain(run.probe)}{what} under load {plain(run.load)}"]
    if run.asked.interval_ns:
        how.append(f"every {format_duration_ns(run.asked.interval_ns)}")
    if run.elapsed_ns is not None:
        how.append(f"for {span_text(run.elapsed_ns)}")
    step = [plain(run.tuning.name)] if run.tuning else []
    name = [label, *step, plain(run.load)]
    if run.asked.interval_ns:
        name.append(format_duration_ns(run.asked.interval_ns))
    return _View(
        label,
        run,
        ", ".join(name),
        ", ".join([*step, *how]),
        " · ".join(plain(text) for text in where if text),
        sentences_of(run),
        judgements,
        rows[: len(run.threads)],
        rows[len(run.threads) :],
        missing_lines(totals),
        instructions_line(run),
        member_columns(run),
        member_lines(run),
        metrics_columns(run.threads),
        waiters_columns(run.threads),
        programs_columns(run),
        [
            *response_table(run),
            *((matrix_title(matrix), matrix_columns(matrix)) for matrix in run.matrices),
        ],
        columns,
        left_out,
        load_lines(run),
        phases_line(run),
        worst_samples(run),
        ranked_views(run),
        explained_views(run),
        plain(shlex.join(run.asked.command)),
        view_of([run]).quantity,
        facts,
        details,
    )


def _beside(reference: Reference, runs: Sequence[Run]) -> list[_ReferenceView]:
    views = []
    for number, table in enumerate(tables_beside(reference, runs)):
        ours = beside(reference, table, runs)
        views.append(
            _ReferenceView(
                table,
                columns_beside(table, ours),
                column_lines(ours),
                beside_lines(ours),
                [*entry_lines(table), *table.caveats],
                samples_chart(table, ours, runs, f"reference-{number}"),
            )
        )
    return views


def _steps(runs: Sequence[Run]) -> list[_StepsView]:
    return [
        _StepsView(
            steps_title(steps),
            step_columns(steps),
            step_lines(steps),
            step_chart(steps, runs, f"steps-{number}"),
        )
        for number, steps in enumerate(steps_among(runs))
    ]
