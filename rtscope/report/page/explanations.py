# SPDX-License-Identifier: GPL-2.0-only
"""How the worst samples came about, as the page shows it."""

import msgspec

from rtscope.model.cause import Ranking
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation
from rtscope.report.page.timeline import Lanes, lanes
from rtscope.report.tables.causes import cause_columns
from rtscope.report.tables.column import Column
from rtscope.report.tables.explanation import ledger_columns, tree_columns
from rtscope.wording.causes import ranking_note, ranking_title, remedy_lines, shown_rankings
from rtscope.wording.explanation import headline, off_line, totals_line
from rtscope.wording.plain import plain

MOST_BARS = 1200
"""in the timelines of a run together, so that the page stays small"""
_LEAST_BARS = 20


class RankedView(msgspec.Struct, frozen=True):
    """A ranking of causes."""

    title: str
    columns: list[Column]
    note: str
    remedies: list[str]


class ExplainedView(msgspec.Struct, frozen=True):
    """One sample: its timeline, and its ledger or its calls."""

    headline: str
    timeline: Lanes
    summary: str
    columns: list[Column]
    lines: list[str]
    notes: list[str]


def ranked_views(run: Run) -> list[RankedView]:
    """The rankings of a run."""
    return [_ranked(ranking) for ranking in shown_rankings(run)]


def explained_views(run: Run, most: int = MOST_BARS) -> list[ExplainedView]:
    """The explained samples of a run, worst first; their timelines have at most `most` bars."""
    most_bars = max(most // max(len(run.explanations), 1), _LEAST_BARS)
    return [_explained(run, one, most_bars) for one in run.explanations]


def _ranked(ranking: Ranking) -> RankedView:
    return RankedView(
        ranking_title(ranking), cause_columns(ranking), ranking_note(ranking), remedy_lines(ranking)
    )


def _explained(run: Run, explanation: Explanation, most_bars: int) -> ExplainedView:
    return ExplainedView(
        headline(run, explanation),
        lanes(explanation, most_bars),
        "ledger" if explanation.ledger else "as a table",
        ledger_columns(explanation) if explanation.ledger else tree_columns(explanation),
        [line for line in (off_line(explanation), totals_line(explanation)) if line],
        [plain(note) for note in [f"source: {explanation.source}", *explanation.notes]],
    )
