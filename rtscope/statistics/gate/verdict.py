# SPDX-License-Identifier: GPL-2.0-only
"""The verdict on a candidate: is it slower than a baseline by more than a margin?

**The unit is the run, never the sample.** Samples of one run share its boot, its memory layout and
its neighbours, so that a million of them say little about the next boot. Each run gives one value
per percentile of its response times (sides.py), in logarithms, because latencies differ by factors.

**The verdict** compares the ratio of candidate to baseline with 1 + margin (permutation.py):
- fail: for some metric the ratio is above it, with an error probability of 1 % over all metrics
  and cells and the spread together (Holm's correction);
- pass: for every metric the ratio is below it, each with an error probability of 1 %
  (Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24(4), 1982:
  no correction is needed where all have to hold);
- inconclusive: neither; with the number of runs that would probably decide.
The spread of the runs, their mean distance from the side's median, is tested in the same way: a
candidate may get erratic at the same mean. It can fail and not pass.

Runs of the exact lab with the same seeds on both sides need no test (exact.py).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from rtscope.model.run import Run, RunWarning
from rtscope.statistics.alike import Difference, differences
from rtscope.statistics.gate.permutation import Floats, fewest_runs, tested
from rtscope.statistics.gate.power import ERROR, runs_needed
from rtscope.statistics.gate.sides import (
    Cell,
    cells_of_sides,
    check_several,
    common_percents,
    percentiles_ns,
)
from rtscope.statistics.metrics import PERCENTS, percent_name

Outcome = Literal["pass", "fail", "inconclusive"]
Kind = Literal["level", "spread", "exact"]


class Row(msgspec.Struct, frozen=True):
    """One metric of both sides."""

    metric: str
    """p99.9"""
    kind: Kind
    """the level of the runs; their spread about the side's median; or the level of exact runs with
    the same seeds"""
    baseline: float
    """geometric mean of the runs in ns; for spread their mean factor from the median"""
    candidate: float
    ratio: float
    low: float
    """limits of the ratio, each of 99 % confidence; of exact runs the smallest ratio of a seed"""
    high: float
    """of exact runs the largest ratio of a seed"""
    p_above: float
    """error probability of saying that the ratio is above the margin, after Holm's correction"""
    p_below: float
    """error probability of saying that it is below"""
    outcome: Outcome
    runs_needed: int | None = None
    """runs a side that would probably decide; None where it is decided, or none would"""
    cell: str = ""
    """the cell of the plan; "" where there is one"""
    seeds: int = 0
    """of exact runs: the number of seeds"""
    slower_seeds: int = 0
    """of exact runs: the number of seeds with a ratio above 1"""


class Gate(msgspec.Struct, frozen=True):
    """The verdict on a candidate."""

    outcome: Outcome
    margin: float
    baseline: list[str]
    """ids of the runs"""
    candidate: list[str]
    rows: list[Row]
    untested: list[str] = []
    """percentiles for which some run has too few samples"""
    differences: list[Difference] = []
    """in what the sides differ, A being the baseline"""
    seeds: list[int] = []
    """of an exact gate: the seeds of both sides; empty for a test"""
    warnings: list[RunWarning] = []
    """of the runs, each once"""
    runs_a_side: int = 0
    """the fewest runs of a cell on either side"""

    @property
    def more_runs(self) -> int | None:
        """How many more runs a side would probably decide; None where it is decided or unknown."""
        needed = [row.runs_needed for row in self.rows if row.runs_needed is not None]
        if self.outcome != "inconclusive" or not needed:
            return None
        return max(1, max(needed) - self.runs_a_side)


def verdict_of(rows: Sequence[Row]) -> Outcome:
    """The outcome of all rows together."""
    outcomes = {row.outcome for row in rows}
    if "fail" in outcomes:
        return "fail"
    return "inconclusive" if "inconclusive" in outcomes else "pass"


def tested_gate(baseline: Sequence[Run], candidate: Sequence[Run], margin: float) -> Gate:
    """Compare a candidate's runs with a baseline's by a test.

    Raises RtscopeError for a side with one run, and for runs that cannot be compared.
    """
    cells = cells_of_sides(baseline, candidate)
    for cell in cells:
        of = f" in {cell.name}" if cell.name else ""
        check_several(cell.baseline, f"the baseline{of}")
        check_several(cell.candidate, f"the candidate{of}")
    sides = {
        cell.name: [
            [percentiles_ns(run) for run in runs] for runs in (cell.baseline, cell.candidate)
        ]
        for cell in cells
    }
    percents = {name: common_percents([*left, *right]) for name, (left, right) in sides.items()}
    tests = 2 * sum(map(len, percents.values()))
    rows: list[Row] = []
    for name, (left, right) in sides.items():
        for percent in percents[name]:
            a, b = (np.log([one[percent] for one in side]) for side in (left, right))
            metric = percent_name(percent)
            rows.append(_row(name, metric, "level", a, b, margin, tests))
            a, b = (np.abs(side - np.median(side)) for side in (a, b))
            rows.append(_row(name, metric, "spread", a, b, margin, tests))
    runs = min(min(len(cell.baseline), len(cell.candidate)) for cell in cells)
    rows = _judged(rows, runs)
    return Gate(
        verdict_of(rows),
        margin,
        [run.id for run in baseline],
        [run.id for run in candidate],
        rows,
        untested(percents),
        settings_apart(baseline[0], candidate[0]),
        warnings=warnings_of_cells(cells),
        runs_a_side=runs,
    )


def untested(percents: Mapping[str, Sequence[float]]) -> list[str]:
    """The names of the percentiles that some run has too few samples for, by the cells' names."""
    return [
        f"{cell}: {percent_name(percent)}" if cell else percent_name(percent)
        for cell, found in percents.items()
        for percent in PERCENTS
        if percent not in found
    ]


def warnings_of_runs(runs: Sequence[Run]) -> list[RunWarning]:
    """The warnings of runs, each once."""
    return list({one.text: one for run in runs for one in run.warnings}.values())


def warnings_of_cells(cells: Sequence[Cell]) -> list[RunWarning]:
    """That the runs of a side are not of one system, and the warnings of all runs, each once."""
    found = []
    for side in ("baseline", "candidate"):
        apart: dict[str, Difference] = {}
        for cell in cells:
            runs = cell.baseline if side == "baseline" else cell.candidate
            for run in runs[1:]:
                for one in settings_apart(runs[0], run):
                    apart.setdefault(one.of, one)
        found += [
            RunWarning(
                f"mixed-{side}",
                f"the {side}'s runs are not of one system: they differ in the {one.of}, "
                f"{one.a or 'unknown'} and {one.b or 'unknown'}",
            )
            for one in apart.values()
        ]
    return found + warnings_of_runs(
        [run for cell in cells for run in (*cell.baseline, *cell.candidate)]
    )


def settings_apart(baseline: Run, candidate: Run) -> list[Difference]:
    """In what the two sides' systems and settings differ."""
    return [one for one in differences(baseline, candidate) if one.kind == "setting"]


def _row(
    cell: str,
    metric: str,
    kind: Kind,
    baseline: Floats,
    candidate: Floats,
    margin: float,
    tests: int,
) -> Row:
    assumed = math.log1p(margin)
    found = tested(baseline, candidate, assumed, ERROR)
    spread = math.sqrt((float(np.var(baseline, ddof=1)) + float(np.var(candidate, ddof=1))) / 2)
    beyond = abs(found.difference - assumed)
    return Row(
        metric,
        kind,
        math.exp(float(baseline.mean())),
        math.exp(float(candidate.mean())),
        math.exp(found.difference),
        math.exp(found.low),
        math.exp(min(found.high, 700)),
        found.p_above,
        found.p_below,
        "inconclusive",
        runs_needed(beyond, spread, tests if found.difference > assumed else 1),
        cell,
    )


def _judged(rows: list[Row], runs_a_side: int) -> list[Row]:
    """The rows with Holm's correction and their outcomes."""
    order = sorted(range(len(rows)), key=lambda at: rows[at].p_above)
    largest, judged = 0.0, list(rows)
    least = fewest_runs(ERROR / len(rows))
    for rank, at in enumerate(order):
        row = rows[at]
        largest = max(largest, min(1.0, row.p_above * (len(rows) - rank)))
        outcome: Outcome = "inconclusive"
        if largest <= ERROR:
            outcome = "fail"
        elif row.p_below <= ERROR or row.kind == "spread":
            outcome = "pass"
        needed = None
        if outcome == "inconclusive" and row.runs_needed is not None:
            needed = max(row.runs_needed, least, runs_a_side + 1)
        judged[at] = msgspec.structs.replace(
            row, p_above=largest, outcome=outcome, runs_needed=needed
        )
    return judged
