# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of two runs or of two series on the terminal."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from rtscope.model.units import format_signed_ns
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.wording.comparison import comparison_sentence, difference_sentence
from rtscope.wording.plain import plain
from rtscope.wording.reason import reasons_text
from rtscope.wording.run import REPEAT_BOTH
from rtscope.wording.values import NOTHING, count_text, time_text

if TYPE_CHECKING:
    from rtscope.statistics.comparison import Comparison, Effect, Estimate, Row
from rtscope.report.terminal.run import marked_line


def comparison_table(comparison: "Comparison") -> "ComparisonTable":
    """The verdict, then both runs' metrics with their confidence limits, untested ones last."""
    return ComparisonTable(comparison)


@dataclass
class ComparisonTable:
    """Renders itself to the width it gets."""

    comparison: "Comparison"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        comparison = self.comparison
        rows = sorted(comparison.rows, key=lambda row: row.effect == "untested")
        if comparison.series:
            yield Text()
            yield Text(plain(comparison.series), style="bold")
        style = {"better": "bold green", "worse": "bold red"}.get(comparison.outcome, "bold")
        yield Text(comparison_sentence(comparison), style=style)
        if comparison.outcome in ("better", "worse"):
            yield Text(REPEAT_BOTH, style="dim")
        for difference in comparison.differences:
            yield marked_line("! ", plain(difference_sentence(difference)), "bold yellow")
        yield Text()
        columns = [
            Column("metric", 0, [row.metric for row in rows], left=True),
            Column("A", 1, [_estimate(row.a) for row in rows]),
            Column("95 % limits of A", 5, [_limits(row.a) for row in rows]),
            Column("B", 2, [_estimate(row.b) for row in rows]),
            Column("95 % limits of B", 6, [_limits(row.b) for row in rows]),
            Column("B − A", 4, [_estimate(row.difference, signed=True) for row in rows]),
            Column("its 95 % limits", 7, [_limits(row.difference, signed=True) for row in rows]),
            Column("B is", 3, [_effect(row) for row in rows], left=True),
        ]
        count = "samples: A {}, B {}; missed periods: A {}, B {}".format(
            *(count_text(side.count) for side in (comparison.a, comparison.b)),
            *(count_text(side.missed) for side in (comparison.a, comparison.b)),
        )
        yield Group(fitted(columns, options.max_width), Text(count))
        for row in rows:
            if row.effect == "untested" and row.reasons and row.metric != "max":
                yield Text(
                    f"{row.metric} was not tested: {plain(reasons_text(row.reasons))}", style="dim"
                )


def _estimate(estimate: "Estimate", signed: bool = False) -> str:
    text = _signed(estimate.value_ns) if signed else time_text(estimate.value_ns)
    return f"≥ {text}" if estimate.at_least else text


def _limits(estimate: "Estimate", signed: bool = False) -> str:
    low, high = estimate.interval.low_ns, estimate.interval.high_ns
    if low is None and high is None:
        return NOTHING
    shown = [_signed(side) if signed else time_text(side) for side in (low, high)]
    if low is None:
        return f"up to {shown[1]}"
    return f"from {shown[0]}" if high is None else f"{shown[0]} … {shown[1]}"


def _signed(ns: float | None) -> str:
    return NOTHING if ns is None else format_signed_ns(ns)


def _effect(row: "Row") -> Text:
    words: dict[Effect, tuple[str, str]] = {
        "better": ("better", "green"),
        "worse": ("worse", "red"),
        "same": ("no evidence", ""),
        "untested": ("not tested", "dim"),
    }
    if row.metric == "mean":
        return Text("shown only", style="dim")
    return Text(*words[row.effect])
