# SPDX-License-Identifier: GPL-2.0-only
"""Whether a candidate is slower than a baseline by more than a margin, from several runs of each.

**The unit is the run, never the sample.** Samples of one run share its boot, its memory layout and
its neighbours, so that a million of them say little about the next boot. Each run gives one metric
per metric: a percentile of its response times (response.py), in logarithms, because latencies
differ by factors.

**The test** is a permutation test of the difference d of the sides' means: of all ways to divide
the runs between the sides, the share whose difference is as large is the error probability. It is
exact, whatever the distribution of the runs, where runs of equal sides are exchangeable (Good,
Permutation, Parametric, and Bootstrap Tests of Hypotheses, 3rd ed. 2005, section 3.2). Up to
20,000 divisions are all tried, of more a fixed random sample that includes the observed one
(Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 9(1), 2010). A mean
sees that a third of the runs got slow, which a test of ranks hardly does. Moving the candidate by
an assumed difference inverts the test into confidence limits: with x the share of the candidate's
runs that stay on its side, a division exceeds d from an assumed difference (d - d_s) / (1 - x) on.

**The verdict** compares the ratio of candidate to baseline with 1 + margin:
- fail: for some metric the ratio is above it, with an error probability of 1 % over all metrics
  and the spread together (Holm's correction);
- pass: for every metric the ratio is below it, each with an error probability of 1 %
  (Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24(4), 1982:
  no correction is needed where all have to hold);
- inconclusive: neither; with the number of runs that would probably decide.
The spread of the runs, their mean distance from the side's median, is tested in the same way: a
candidate may get erratic at the same mean. It can fail and not pass.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.units import counted
from rtscope.statistics.alike import Difference, differences
from rtscope.statistics.distributions import detectable, student_quantile
from rtscope.statistics.metrics import PERCENTS, percent_name, quantile_ns
from rtscope.statistics.response import Responses, responses_of_run

Outcome = Literal["pass", "fail", "inconclusive"]
Kind = Literal["level", "spread"]
Floats = NDArray[np.float64]

ERROR: Final = 0.01
POWER: Final = 0.9
MOST_RUNS: Final = 10_000
_MOST_DIVISIONS: Final = 20_000
_FEWEST_TO_CALIBRATE: Final = 5
_NUMBERS: Final = (5, 10, 20, 50)
_HAS_TO_BE_ALIKE: Final = ("load", "interval", "policy", "CPUs", "measuring tool")


class Row(msgspec.Struct, frozen=True):
    """One metric of both sides."""

    metric: str
    """p99.9"""
    kind: Kind
    """the level of the runs, or their spread about the side's median"""
    baseline: float
    """geometric mean of the runs in ns; for spread their mean factor from the median"""
    candidate: float
    ratio: float
    low: float
    """limits of the ratio, each of 99 % confidence"""
    high: float
    p_above: float
    """error probability of saying that the ratio is above the margin, after Holm's correction"""
    p_below: float
    """error probability of saying that it is below"""
    outcome: Outcome
    runs_needed: int | None = None
    """runs a side that would probably decide; None where it is decided, or none would"""


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

    @property
    def more_runs(self) -> int | None:
        """How many more runs a side would probably decide; None where it is decided or unknown."""
        needed = [row.runs_needed for row in self.rows if row.runs_needed is not None]
        if self.outcome != "inconclusive" or not needed:
            return None
        return max(1, max(needed) - min(len(self.baseline), len(self.candidate)))


def gate(baseline: Sequence[Run], candidate: Sequence[Run], margin: float) -> Gate:
    """Compare a candidate's runs with a baseline's.

    Raises RtscopeError for a side with one run, and for runs that cannot be compared.
    """
    for name, runs in (("baseline", baseline), ("candidate", candidate)):
        if len(runs) < 2:
            raise RtscopeError(
                f"the {name} has {counted(len(runs), 'run')}: one run does not show how much runs "
                "differ; give at least 2, better 10, as `rtscope run` measures with "
                "repetitions = 10 in the plan"
            )
    _check_alike([*baseline, *candidate])
    left, right = ([_metrics(run) for run in runs] for runs in (baseline, candidate))
    percents = [percent for percent in PERCENTS if all(percent in one for one in [*left, *right])]
    if not percents:
        raise RtscopeError("the runs have too few samples for any percentile: measure longer")
    rows: list[Row] = []
    for percent in percents:
        a, b = (np.log([one[percent] for one in side]) for side in (left, right))
        rows.append(_row(percent_name(percent), "level", a, b, margin, 2 * len(percents)))
        a, b = (np.abs(side - np.median(side)) for side in (a, b))
        rows.append(_row(percent_name(percent), "spread", a, b, margin, 2 * len(percents)))
    rows = _judged(rows, len(baseline), len(candidate))
    first, other = baseline[0], candidate[0]
    told = [one for one in differences(first, other) if one.kind == "setting"]
    untested = [percent_name(percent) for percent in PERCENTS if percent not in percents]
    return Gate(
        _verdict(rows),
        margin,
        [run.id for run in baseline],
        [run.id for run in candidate],
        rows,
        untested,
        told,
    )


class CalibrationRow(msgspec.Struct, frozen=True):
    """How much one metric differs from run to run, and what a gate would find."""

    metric: str
    median_ns: float
    spread: float
    """standard deviation of the runs, as a part of their mean"""
    found: list[float]
    """the smallest ratio found, for each of `numbers`"""


class Calibration(msgspec.Struct, frozen=True):
    """What a gate can find on one system."""

    runs: int
    margin: float
    numbers: list[int]
    """runs a side"""
    rows: list[CalibrationRow]


def calibrated(runs: Sequence[Run], margin: float) -> Calibration:
    """The smallest changes that a gate finds with POWER, by runs a side, as far as these runs of
    one system show how much its runs differ. Raises RtscopeError as gate does.
    """
    if len(runs) < _FEWEST_TO_CALIBRATE:
        raise RtscopeError(
            f"{counted(len(runs), 'run')} do not show how much runs differ: measure at least "
            f"{_FEWEST_TO_CALIBRATE} of one system, better 20"
        )
    _check_alike(runs)
    metrics = [_metrics(run) for run in runs]
    rows = []
    percents = [percent for percent in PERCENTS if all(percent in one for one in metrics)]
    for percent in percents:
        logs = np.log([one[percent] for one in metrics])
        spread = float(np.std(logs, ddof=1))
        found = [
            (1 + margin)
            * math.exp(spread * math.sqrt(2 / number) * _distance(2 * len(percents), number))
            for number in _NUMBERS
        ]
        median = math.exp(float(np.median(logs)))
        rows.append(CalibrationRow(percent_name(percent), median, math.expm1(spread), found))
    return Calibration(len(runs), margin, [*_NUMBERS], rows)


def _check_alike(runs: Sequence[Run]) -> None:
    first = runs[0]
    if len({run.id for run in runs}) < len(runs):
        raise RtscopeError("a run is named twice: each run counts once")
    for run in runs:
        if run.status != "complete":
            raise RtscopeError(
                f"run {run.id} ended early ({run.status}): leave it out, or measure it again"
            )
        if run.placement_series or run.probe != first.probe:
            raise RtscopeError(
                f"runs {first.id} ({first.probe}) and {run.id} ({run.probe}) cannot be compared: "
                "a gate takes runs of one probe, and no placement series"
            )
        for one in differences(first, run):
            if one.kind == "setting" and one.of in _HAS_TO_BE_ALIKE:
                raise RtscopeError(
                    f"runs {first.id} and {run.id} differ in the {one.of}, {one.a} and {one.b}: "
                    "a gate takes runs that were measured in the same way"
                )


def _metrics(run: Run) -> dict[float, float]:
    """The percentiles of a run's response times in ns; of its samples where those are unknown."""
    told = responses_of_run(run, run.threads)
    if not isinstance(told, Responses):
        told = responses_of_run(
            msgspec.structs.replace(run, threads=[]),
            [msgspec.structs.replace(thread, missed=0) for thread in run.threads],
        )
    assert isinstance(told, Responses)
    maxima = [thread.max_ns for thread in run.threads if thread.max_ns is not None]
    quantiles = {
        percent: quantile_ns(told.histogram, percent, max(maxima, default=None))
        for percent in PERCENTS
    }
    return {
        percent: float(max(one.value_ns, 1))
        for percent, one in quantiles.items()
        if one.value_ns is not None and not one.at_least
    }


@lru_cache(maxsize=8)
def _weights(baseline: int, candidate: int) -> tuple[Floats, Floats]:
    """The weights that make the difference of the means, of shape (divisions, runs), the observed
    division first; and how much each division's difference grows with an assumed one."""
    divisions = _divisions(baseline, candidate)
    weights = divisions / candidate - (1 - divisions) / baseline
    return weights, weights[:, baseline:].sum(axis=1)


def _divisions(baseline: int, candidate: int) -> Floats:
    """Divisions of the runs, of shape (divisions, runs): 1 for the candidate's side, the observed
    division first."""
    total = baseline + candidate
    observed = np.r_[np.zeros(baseline), np.ones(candidate)]
    if math.comb(total, candidate) <= _MOST_DIVISIONS:
        chosen = np.zeros((math.comb(total, candidate), total))
        for row, members in zip(chosen, combinations(range(total), candidate), strict=True):
            row[list(members)] = 1
        same = (chosen == observed).all(axis=1)
        return np.vstack([chosen[same], chosen[~same]])
    random = np.random.default_rng(1)
    drawn = random.permuted(np.tile(observed, (_MOST_DIVISIONS - 1, 1)), axis=1)
    return np.vstack([observed, drawn])


def _thresholds(baseline: Floats, candidate: Floats) -> tuple[float, Floats, int]:
    """The observed difference; for each division the assumed difference from which it is as large
    as the observed one; and how many divisions are so whatever is assumed."""
    weights, moved = _weights(len(baseline), len(candidate))
    found = weights @ np.r_[baseline, candidate]
    same = moved >= 1 - 1e-12
    thresholds = (found[0] - found[~same]) / (1 - moved[~same])
    return float(found[0]), np.sort(thresholds), int(same.sum())


def _row(
    metric: str, kind: Kind, baseline: Floats, candidate: Floats, margin: float, tests: int
) -> Row:
    observed, thresholds, always = _thresholds(baseline, candidate)
    number = len(thresholds) + always
    assumed = math.log1p(margin)
    p_above = (always + int((thresholds <= assumed).sum())) / number
    p_below = (always + int((thresholds >= assumed).sum())) / number
    cut = math.floor(ERROR * number) - always
    low, high = -math.inf, math.inf
    if cut >= 0:
        low, high = float(thresholds[cut]), float(thresholds[-1 - cut])
    spread = math.sqrt((float(np.var(baseline, ddof=1)) + float(np.var(candidate, ddof=1))) / 2)
    distance = abs(observed - assumed)
    return Row(
        metric,
        kind,
        math.exp(float(baseline.mean())),
        math.exp(float(candidate.mean())),
        math.exp(observed),
        math.exp(low),
        math.exp(min(high, 700)),
        p_above,
        p_below,
        "inconclusive",
        _runs_needed(distance, spread, tests if observed > assumed else 1),
    )


def _distance(tests: int, runs_a_side: int) -> float:
    """Standard errors between a margin and a difference that is found with POWER among `tests`."""
    freedom = 2 * runs_a_side - 2
    return detectable(freedom, student_quantile(freedom, 1 - ERROR / tests), POWER)


def _runs_needed(distance: float, spread: float, tests: int) -> int | None:
    """Runs a side that find a difference so far from the margin; None for more than MOST_RUNS."""
    if distance <= 0:
        return None
    needed = 2
    while spread * math.sqrt(2 / needed) * _distance(tests, needed) > distance:
        needed += max(1, needed // 20)
        if needed > MOST_RUNS:
            return None
    return needed


def _judged(rows: list[Row], baseline: int, candidate: int) -> list[Row]:
    """The rows with Holm's correction and their outcomes."""
    order = sorted(range(len(rows)), key=lambda at: rows[at].p_above)
    largest, judged = 0.0, list(rows)
    for rank, at in enumerate(order):
        row = rows[at]
        largest = max(largest, min(1.0, row.p_above * (len(rows) - rank)))
        outcome: Outcome = "inconclusive"
        if largest <= ERROR:
            outcome = "fail"
        elif row.p_below <= ERROR or row.kind == "spread":
            outcome = "pass"
        # So few runs cannot decide, however far apart they are.
        least = 2
        while math.comb(2 * least, least) < len(rows) / ERROR:
            least += 1
        needed = None
        if outcome == "inconclusive" and row.runs_needed is not None:
            needed = max(row.runs_needed, least, min(baseline, candidate) + 1)
        judged[at] = msgspec.structs.replace(
            row, p_above=largest, outcome=outcome, runs_needed=needed
        )
    return judged


def _verdict(rows: Sequence[Row]) -> Outcome:
    outcomes = {row.outcome for row in rows}
    if "fail" in outcomes:
        return "fail"
    return "inconclusive" if "inconclusive" in outcomes else "pass"
