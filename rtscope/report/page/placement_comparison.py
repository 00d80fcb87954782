# SPDX-License-Identifier: GPL-2.0-only
"""Several series on a page: the advice of each, their curves in one figure, and all cells."""

import shlex
from collections.abc import Sequence

import msgspec

from rtscope.model.placement_series import series_of
from rtscope.model.run import Run
from rtscope.report.page.placement_charts import charts_together
from rtscope.report.page.render import render_page
from rtscope.report.tables.placement_comparison import loads_together, placements_together
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.findings import advice_of, findings_of
from rtscope.statistics.reference import column_label
from rtscope.wording.findings import sentence
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.placement_series import how_text, laws_of, where_text
from rtscope.wording.plain import plain
from rtscope.wording.run import caveats_of_all


class _View(msgspec.Struct, frozen=True):
    """One series as the template prints it."""

    label: str
    where: str
    how: str
    first: list[str]
    more: list[str]
    laws: list[str]
    command: str
    facts: list[tuple[str, str]]
    details: list[tuple[str, list[str]]]


def placement_comparison_page(runs: Sequence[Run]) -> str:
    """The series as a page."""
    labelled = [(column_label(index), series_of(run)) for index, run in enumerate(runs)]
    views = [_view(label, run) for (label, _), run in zip(labelled, runs, strict=True)]
    charts = charts_together(labelled)
    placed = [(label, series) for label, series in labelled if not series.has_loads]
    loaded = [(label, series) for label, series in labelled if series.has_loads]
    return render_page(
        "placement_comparison.html.jinja",
        title=_title(len(placed), len(loaded)),
        views=views,
        caveats=caveats_of_all([(view.label, run) for view, run in zip(views, runs, strict=True)]),
        charts=charts,
        placed=placements_together(placed),
        loaded=loads_together(loaded),
        level=f"{LEVEL * 100:.0f} %",
    )


def _title(placed: int, loaded: int) -> str:
    what = ["how they scale"] * bool(placed) + ["who disturbs whom"] * bool(loaded)
    return f"{placed + loaded} all_series: {', and '.join(what)}"


def _view(label: str, run: Run) -> _View:
    first = [sentence(found).text for found in advice_of(run)]
    more = [sentence(found).text for found in findings_of(run)]
    facts, details = fingerprint(run)
    return _View(
        label,
        where_text(run),
        how_text(run),
        first,
        more,
        list(laws_of(run)),
        plain(shlex.join(run.asked.command)),
        facts,
        details,
    )
