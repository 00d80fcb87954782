# SPDX-License-Identifier: GPL-2.0-only
"""Whether a commit is good or bad, from the runs of an ensemble of seeds.

A figure of the lab is exact, but a change of a byte moves code and data, and with them the samples:
one run on each commit would blame the commit that moved them. So each commit is measured with
several seeds, and their count decides.

**With a budget** each seed passes or fails. The two ends must differ in their shares of failing
seeds with an error probability of 1 % (Fisher's exact test, one-sided); every other commit gets
the end whose share explains its count 99 times better (Wald's sequential likelihood ratio test,
"Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16(2), 1945). A
count between them asks for more seeds.

**With a margin** the good end is the baseline of a gate (statistics/gate), whose runs are the
seeds: fail is bad, pass is good, and inconclusive asks for more seeds. It is the gate with a test,
although the runs are exact: a shift of a byte is the noise that the test is about.
"""

import math
import statistics
from collections.abc import Sequence
from typing import Final, Literal, Protocol

import msgspec

from rtscope.model.budget import Limit
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.units import format_ns
from rtscope.statistics.gate.sides import percentiles_ns
from rtscope.statistics.gate.verdict import tested_gate
from rtscope.statistics.metrics import percent_name
from rtscope.statistics.verdict import Judgement, judge

Side = Literal["good", "bad"]

_ERROR: Final = 0.01
_ODDS: Final = math.log(99)


class Figure(msgspec.Struct, frozen=True):
    """One metric of a commit, over its seeds."""

    metric: str
    median: float
    """ns where `in_ns`"""
    low: float
    high: float
    """the least and the largest of the seeds"""
    in_ns: bool = True


class Rule(Protocol):
    """Decides between good and bad."""

    def check_ends(self, good: Sequence[Run], bad: Sequence[Run]) -> None:
        """Take the ends as the measure of the others. Raises RtscopeError if they do not differ."""

    def side(self, runs: Sequence[Run]) -> Side | None:
        """The side of a commit with these runs; None if more seeds are needed."""

    def failing(self, runs: Sequence[Run]) -> int | None:
        """The number of seeds that fail; None where seeds are not judged one by one."""

    def figures(self, runs: Sequence[Run]) -> list[Figure]:
        """The metrics that decide, the most telling first."""


class BudgetRule:
    """Good commits meet a budget."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        """Of at least one limit."""
        self._limits = limits
        self._good = self._bad = 0.5
        """shares of failing seeds at the ends"""

    def check_ends(self, good: Sequence[Run], bad: Sequence[Run]) -> None:
        """Raises RtscopeError unless clearly more seeds fail at the bad end."""
        failing = [self.failing(runs) for runs in (good, bad)]
        if _chance(failing[0], len(good), failing[1], len(bad)) > _ERROR:
            raise RtscopeError(
                f"{self._text()} does not tell the two ends apart: {failing[0]} of {len(good)} "
                f"seeds fail at the good end and {failing[1]} of {len(bad)} at the bad end. "
                f"{self._advice(good, bad)}"
            )
        self._good, self._bad = (
            (one + 0.5) / (len(runs) + 1) for one, runs in zip(failing, (good, bad), strict=True)
        )

    def side(self, runs: Sequence[Run]) -> Side | None:
        """The side whose share of failing seeds is 99 times as likely."""
        failing = self.failing(runs)
        odds = failing * math.log(self._bad / self._good)
        odds += (len(runs) - failing) * math.log((1 - self._bad) / (1 - self._good))
        if abs(odds) < _ODDS:
            return None
        return "bad" if odds > 0 else "good"

    def failing(self, runs: Sequence[Run]) -> int:
        """Seeds that fail one of the limits. Raises RtscopeError where one cannot be judged."""
        return sum(any(one.outcome == "fail" for one in self._judged(run)) for run in runs)

    def figures(self, runs: Sequence[Run]) -> list[Figure]:
        """The metric of each limit."""
        judged = [self._judged(run) for run in runs]
        figures = []
        for at, limit in enumerate(self._limits):
            values = [value for one in judged if (value := one[at].value) is not None]
            if values:
                figures.append(_figure(limit.metric, values, in_ns=limit.in_ns))
        return figures

    def _judged(self, run: Run) -> list[Judgement]:
        judged = judge(run, self._limits)
        unclear = next((one for one in judged if one.outcome == "inconclusive"), None)
        if unclear and not any(one.outcome == "fail" for one in judged):
            missing = unclear.samples_missing
            raise RtscopeError(
                f"{unclear.limit.text} is inconclusive for one seed: "
                + (
                    f"its {unclear.samples:,} samples are too few, give --samples "
                    f"{unclear.samples + missing}"
                    if missing
                    else "its run does not have that metric"
                )
            )
        return judged

    def _advice(self, good: Sequence[Run], bad: Sequence[Run]) -> str:
        pairs = zip(self.figures(good), self.figures(bad), strict=False)
        changed = [
            f"{a.metric} {_text(a)} and {_text(b)}" for a, b in pairs if a.metric == b.metric
        ]
        values = f" ({', '.join(changed)}, medians)" if changed else ""
        return f"Give a limit between the figures of both ends{values}, or more --seeds"

    def _text(self) -> str:
        return "the budget " + ", ".join(limit.text for limit in self._limits)


class MarginRule:
    """Good commits are not worse than the good end by more than a margin."""

    def __init__(self, margin: float) -> None:
        """0.05 is 5 %."""
        self._margin = margin
        self._baseline: Sequence[Run] = ()
        self._telling: str = ""
        """the metric that differs most between the ends"""

    def check_ends(self, good: Sequence[Run], bad: Sequence[Run]) -> None:
        """Raises RtscopeError unless the bad end fails a gate."""
        self._baseline = good
        verdict = tested_gate(good, bad, self._margin)
        largest = max(verdict.rows, key=lambda row: row.ratio)
        if verdict.outcome != "fail":
            raise RtscopeError(
                f"the bad end is not worse than the good end by more than "
                f"{100 * self._margin:g} %: {largest.metric} differs most, by a factor of "
                f"{largest.ratio:.3f}. Give a smaller --margin, more --seeds, or a --budget"
            )
        levels = [row for row in verdict.rows if row.kind == "level"]
        self._telling = max(levels, key=lambda row: row.ratio).metric

    def side(self, runs: Sequence[Run]) -> Side | None:
        """The verdict of the gate."""
        outcome = tested_gate(self._baseline, runs, self._margin).outcome
        return {"fail": "bad", "pass": "good"}.get(outcome)  # type: ignore[return-value]

    def failing(self, runs: Sequence[Run]) -> None:
        """A gate judges the seeds together."""

    def figures(self, runs: Sequence[Run]) -> list[Figure]:
        """Every percentile that each seed has."""
        percentiles = [percentiles_ns(run) for run in runs]
        common = [one for one in percentiles[0] if all(one in other for other in percentiles)]
        figures = [
            _figure(percent_name(percent), [one[percent] for one in percentiles], in_ns=True)
            for percent in common
        ]
        return sorted(figures, key=lambda figure: figure.metric != self._telling)


def _figure(metric: str, values: Sequence[float], *, in_ns: bool) -> Figure:
    return Figure(metric, statistics.median(values), min(values), max(values), in_ns)


def _text(figure: Figure) -> str:
    return format_ns(figure.median) if figure.in_ns else f"{figure.median:g}"


def _chance(good: int, goods: int, bad: int, bads: int) -> float:
    """The probability of so many failing seeds at the bad end, if both ends had the same share
    of the failing ones (Fisher's exact test).
    """
    failing = good + bad
    most = min(failing, bads)
    ways = [math.comb(bads, one) * math.comb(goods, failing - one) for one in range(bad, most + 1)]
    return sum(ways) / math.comb(goods + bads, failing)
