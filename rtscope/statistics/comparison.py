# SPDX-License-Identifier: GPL-2.0-only
"""Whether one run is significantly better than another.

Every quantile for which both runs have enough samples is tested: the median, and each tail from p99
on. The confidence limits of each are made of order statistics of n_eff samples, those of the
difference from both (confidence.py); the p-value is the largest error probability whose limits of
the difference still hold zero. Holm's step-down correction over all of them keeps the probability
of any false finding at 5 %. The deepest tail that differs decides; the median is reported with it,
and decides if no tail differs. The maxima decide nothing: one sample more or less moves them.

A difference below 2 % is never called better or worse, even if it is significant, because the same
system differs by more after its next boot. Two runs show only how these two runs differ, not how
much a system differs from run to run; gate.py tests several runs of each side.
"""

import math
from typing import Final, Literal

import msgspec

from rtscope.model.budget import RESPONSE
from rtscope.model.errors import RtscopeError
from rtscope.model.reason import Reason
from rtscope.model.run import Run
from rtscope.statistics import confidence
from rtscope.statistics.alike import Difference, differences
from rtscope.statistics.confidence import Interval, Ranks
from rtscope.statistics.metrics import (
    PERCENTS,
    SAMPLES_BEYOND,
    Metrics,
    fraction_of,
    merge,
    metrics_of_run,
    percent_name,
    quantile_ns,
)
from rtscope.statistics.response import Responses, responses_of_run

Outcome = Literal["better", "worse", "no evidence", "too few", "not comparable"]
Effect = Literal["better", "worse", "same", "untested"]

_FIRST_RESPONSE: Final = 99.0
SMALLEST_EFFECT: Final = 0.02
BODY_PERCENT: Final = 99
"""quantiles up to this are of the body of the samples, not of their tail"""


class Estimate(msgspec.Struct, frozen=True):
    """A metric in ns with its confidence limits."""

    value_ns: float | None
    interval: Interval = Interval(None, None)
    at_least: bool = False


class Row(msgspec.Struct, frozen=True):
    """One metric of both runs."""

    metric: str = msgspec.field(name="figure")
    """mean, max, p99.9, or p99.9.response"""
    a: Estimate
    b: Estimate
    difference: Estimate
    """b - a"""
    effect: Effect = "untested"
    """B against A"""
    p_value: float | None = None
    """after Holm's correction; None if it was not tested"""
    reasons: list[Reason] = []
    """reasons why it was not tested"""


class Comparison(msgspec.Struct, frozen=True):
    """B against A."""

    outcome: Outcome
    decider: str | None
    """the metric that decided: the deepest tail that differs"""
    rows: list[Row]
    a: Metrics
    b: Metrics
    probes: tuple[str, str]
    """what A and B measured"""
    differences: list[Difference] = []
    """differences between the measurements, gravest first"""
    series: str = ""
    """the name of the threads that are compared: a clock, a method; "" for all"""


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison."""

    metrics: Metrics
    ranks: Ranks
    batches: confidence.Batches
    effective: dict[float, float]
    """effective number of independent samples, by percent"""


def compare_series(a: Run, b: Run) -> list[Comparison]:
    """One comparison for each thread name of both runs; one for all threads without names.

    If each run has a single name, these two are compared. Raises RtscopeError as compare does, and
    if both have names but none in common.
    """
    left, right = (list(dict.fromkeys(t.name for t in run.threads)) for run in (a, b))
    if a.probe != b.probe or (len(left) <= 1 and len(right) <= 1):
        return [compare(a, b)]
    both = [name for name in left if name in right]
    if not both:
        raise RtscopeError(
            f"A measured {', '.join(left)} and B {', '.join(right)}: they have nothing in common"
        )
    alone = [
        Difference("only", names=rest, side="A" if names is left else "B")
        for names in (left, right)
        if (rest := [name for name in names if name not in both])
    ]
    found = []
    for name in both:
        comparison = compare(*(_only(run, name) for run in (a, b)))
        differences = [*comparison.differences, *alone]
        found.append(msgspec.structs.replace(comparison, series=name, differences=differences))
    return found


def _only(run: Run, name: str) -> Run:
    threads = [thread for thread in run.threads if thread.name == name]
    return msgspec.structs.replace(run, threads=threads)


def compare(a: Run, b: Run) -> Comparison:
    """The metrics of both runs, and whether B is better or worse than A.

    Raises RtscopeError where a run's counts are impossible (metrics.merge).
    """
    return compare_sides(a, side_of(a), b, side_of(b))


def compare_sides(a: Run, left: Side, b: Run, right: Side) -> Comparison:
    """Compare known sides, so that a side of many comparisons is made once."""
    found = differences(a, b)
    refused = a.probe != b.probe
    tested = [
        _quantile_row(left, right, percent, index, refused)
        for index, percent in enumerate(PERCENTS)
    ]
    quantiles = holm(tested)
    rows = [
        _mean_row(left, right),
        *quantiles,
        _max_row(left, right),
        *_response_rows(a, b),
    ]
    probes = (a.probe, b.probe)
    if refused:
        return Comparison("not comparable", None, rows, left.metrics, right.metrics, probes, found)
    outcome, decider = _conclude(quantiles)
    unknown = [name for name, side in (("A", left), ("B", right)) if not side.batches.number]
    if unknown and outcome in ("better", "worse"):
        found.append(Difference("assumed-independent", names=unknown))
    return Comparison(outcome, decider, rows, left.metrics, right.metrics, probes, found)


def side_of(run: Run) -> Side:
    """A run as one side of a comparison. Raises RtscopeError as compare does."""
    threads = [thread for thread in run.threads if thread.count]
    metrics = metrics_of_run(run)
    windows = confidence.pooled_windows(threads)
    ranks = Ranks(merge([thread.histogram for thread in threads]))
    batches = confidence.batch_means(windows, metrics.stddev_ns)
    body = confidence.body_batches(windows, ranks)
    inflations = {
        percent: max(
            batches.inflation,
            confidence.cluster_size(ranks, windows, percent),
            body.inflation if percent <= BODY_PERCENT else 1.0,
        )
        for percent in PERCENTS
    }
    effective = {percent: ranks.total / one for percent, one in inflations.items()}
    return Side(metrics, ranks, batches, effective)


def _mean_row(a: Side, b: Side) -> Row:
    left, right = _mean(a), _mean(b)
    return Row("mean", left, right, _difference(left, right))


def _mean(side: Side) -> Estimate:
    metrics = side.metrics
    if metrics.mean_ns is None or metrics.stddev_ns is None:
        return Estimate(metrics.mean_ns)
    return Estimate(
        metrics.mean_ns,
        confidence.mean_interval(metrics.mean_ns, metrics.stddev_ns, metrics.count, side.batches),
    )


def _max_row(a: Side, b: Side) -> Row:
    left, right = Estimate(a.metrics.max_ns), Estimate(b.metrics.max_ns)
    one_sample = [Reason("one-sample")]
    return Row("max", left, right, _difference(left, right), reasons=one_sample)


def _response_rows(a: Run, b: Run) -> list[Row]:
    """Percentiles with the missed periods filled in, where a run missed any; not tested, since the
    periods of one stall depend on each other."""
    if not any(thread.missed for run in (a, b) for thread in run.threads):
        return []
    found = [responses_of_run(run, run.threads) for run in (a, b)]
    known = [one.histogram for one in found if isinstance(one, Responses)]
    if len(known) != len(found):
        return []
    rows = []
    for percent in PERCENTS:
        left, right = (quantile_ns(one, percent) for one in known)
        if percent < _FIRST_RESPONSE or left.value_ns is None or right.value_ns is None:
            continue
        first = Estimate(left.value_ns, at_least=left.at_least)
        second = Estimate(right.value_ns, at_least=right.at_least)
        name = f"{percent_name(percent)}{RESPONSE}"
        reasons = [Reason("one-stall")]
        rows.append(Row(name, first, second, _difference(first, second), reasons=reasons))
    return rows


def _difference(a: Estimate, b: Estimate) -> Estimate:
    if a.value_ns is None or b.value_ns is None:
        return Estimate(None)
    interval = confidence.difference_interval(a.value_ns, a.interval, b.value_ns, b.interval)
    return Estimate(b.value_ns - a.value_ns, interval)


def _quantile_row(a: Side, b: Side, percent: float, index: int, refused: bool) -> Row:
    name = percent_name(percent)
    left, right = (_quantile(side, percent, index) for side in (a, b))
    difference = _difference(left, right)
    reasons: list[Reason] = []
    sides: tuple[tuple[Literal["A", "B"], Side], ...] = (("A", a), ("B", b))
    for label, side in sides:
        quantile = side.metrics.quantiles[index]
        beyond = side.effective[percent] * float(1 - fraction_of(percent))
        if quantile.reason:
            reasons.append(msgspec.structs.replace(quantile.reason, side=label))
        elif beyond < SAMPLES_BEYOND:
            reasons.append(Reason("too-few-independent", beyond, SAMPLES_BEYOND, label))
    if refused and not reasons:
        reasons.append(Reason("not-comparable"))
    if reasons or left.value_ns is None or right.value_ns is None:
        return Row(name, left, right, difference, reasons=reasons)
    p_value = _p_value(a, b, percent, left.value_ns, right.value_ns)
    return Row(name, left, right, difference, "same", p_value)


def _quantile(side: Side, percent: float, index: int) -> Estimate:
    quantile = side.metrics.quantiles[index]
    if quantile.value_ns is None:
        return Estimate(None)
    interval = confidence.quantile_interval(side.ranks, percent, side.effective[percent])
    return Estimate(quantile.value_ns, interval, quantile.at_least)


def _p_value(a: Side, b: Side, percent: float, a_ns: float, b_ns: float) -> float:
    """The largest 1 - level whose limits of the difference include zero, to three digits."""
    effective = a.effective[percent], b.effective[percent]

    def holds_zero(error: float) -> bool:
        left, right = (
            confidence.quantile_interval(side.ranks, percent, n, 1 - error)
            for side, n in zip((a, b), effective, strict=True)
        )
        interval = confidence.difference_interval(a_ns, left, b_ns, right)
        above = interval.low_ns is not None and interval.low_ns > 0
        below = interval.high_ns is not None and interval.high_ns < 0
        return not (above or below)

    low, high = math.log(1e-9), 0.0
    if not holds_zero(math.exp(low)):
        return math.exp(low)
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if holds_zero(math.exp(middle)) else (low, middle)
    return math.exp(high)


def holm(rows: list[Row]) -> list[Row]:
    """The rows with corrected p-values and their effects."""
    tested = [index for index, row in enumerate(rows) if row.p_value is not None]
    corrected = confidence.holm([rows[index].p_value or 0.0 for index in tested])
    result = list(rows)
    for index, p_value in zip(tested, corrected, strict=True):
        row = rows[index]
        a, difference = row.a.value_ns or 0.0, row.difference.value_ns or 0.0
        effect: Effect = "same"
        if p_value <= 1 - confidence.LEVEL and abs(difference) >= SMALLEST_EFFECT * a:
            effect = "better" if difference < 0 else "worse"
        result[index] = msgspec.structs.replace(row, effect=effect, p_value=p_value)
    return result


def _conclude(rows: list[Row]) -> tuple[Outcome, str | None]:
    """The outcome and the metric that decides it."""
    tested = [row for row in rows if row.effect != "untested"]
    if not tested:
        return "too few", None
    found = [row for row in tested if row.effect in ("better", "worse")]
    if not found:
        return "no evidence", None
    return ("better" if found[-1].effect == "better" else "worse"), found[-1].metric
