# SPDX-License-Identifier: GPL-2.0-only
"""Whether a run meets its limits: pass, fail, or inconclusive from what was measured.

A limit holds for every thread. A quantile's limit is judged by counting the samples at or above it:
a thread may have at most floor(n (1 - p)) of them, which is the same as saying that the sample of
rank ceil(p n) is below the limit. Ten samples decide in either direction (see metrics.py): too few
samples beyond the quantile cannot pass a limit, ten samples above it fail it however short the run
was. A limit on p99.9.response is judged alike, with the missed periods filled in (response.py). A
run that was cut short can fail a limit but not pass it.

A limit on the rate of larger samples passes or fails by exact limits of that rate.

A limit on a metric of the probe holds for every thread that has it, a limit on a series for the
threads of that name; where there is no such thread the verdict is inconclusive.
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.reason import Reason
from rtscope.model.run import Run, Thread
from rtscope.statistics.distributions import poisson_high, poisson_low
from rtscope.statistics.metrics import (
    SAMPLES_BEYOND,
    Stalls,
    as_arrays,
    fraction_of,
    quantile_ns,
    samples_needed,
    stalls_of,
)
from rtscope.statistics.response import responses

Outcome = Literal["pass", "fail", "inconclusive"]
_LEVEL: Final = 0.95
_HOUR_NS: Final = 3600e9
_ORDER: dict[Outcome, int] = {"pass": 0, "inconclusive": 1, "fail": 2}


class Judgement(msgspec.Struct, frozen=True):
    """The verdict on one limit, decided by its worst thread."""

    limit: Limit
    outcome: Outcome
    value: float | None = None
    """ns, a count for missed, or a metric as it is; None where it is not known"""
    at_least: bool = False
    """the value is only a bound"""
    thread: int | None = None
    cpu: int | None = None
    series: str = ""
    """the thread's name"""
    samples: int = 0
    """of that thread"""
    reason: Reason | None = None
    """why it is inconclusive, or fails without a value"""
    samples_missing: int | None = None
    """how many more samples this thread needs, where that is why it is inconclusive"""
    more_ns: int | None = None
    """the time in which that many come at this run's rate; None where it is not known"""
    stalls: Stalls | None = None
    """missed periods of the judged threads, which a limit on a plain percentile leaves out"""


class _Result(msgspec.Struct, frozen=True):
    outcome: Outcome
    value: float | None
    reason: Reason | None = None
    samples_missing: int | None = None
    at_least: bool = False


def judge(run: Run, limits: Sequence[Limit]) -> list[Judgement]:
    """One judgement for each limit, in order."""
    return [_judge(run, limit) for limit in limits]


def judge_by_own(run: Run) -> list[Judgement]:
    """One judgement for each limit of the run's own budget; inconclusive if it cannot be read."""
    return [_judge_text(run, text) for text in run.asked.budget]


def _judge_text(run: Run, text: str) -> Judgement:
    try:
        return _judge(run, parse_limit(text))
    except RtscopeError:
        unread = Limit(metric="", value=0, inclusive=False, text=text)
        return _undecided(unread, Reason("unreadable-limit"))


def exit_code(judgements: Sequence[Judgement]) -> int:
    """0 when every limit passes, else 1: an inconclusive limit is not proven."""
    return int(any(judgement.outcome != "pass" for judgement in judgements))


def _judge(run: Run, limit: Limit) -> Judgement:
    judged = [thread for thread in run.threads if limit.series in ("", thread.name)]
    if not judged:
        return _undecided(limit, _no_series(run))
    if limit.is_metric:
        judged = [thread for thread in judged if limit.metric in thread.metrics]
        if not judged:
            return _undecided(limit, _no_metric(run))
    elif not any(thread.count for thread in judged):
        return _undecided(limit, Reason("no-samples"))
    findings = [(thread, _find(run, thread, limit)) for thread in judged]
    thread, worst = max(
        findings,
        key=lambda pair: (
            _ORDER[pair[1].outcome],
            pair[1].samples_missing or 0,
            pair[1].value or 0,
        ),
    )
    if worst.outcome == "pass" and run.status != "complete":
        worst = _Result("inconclusive", worst.value, Reason("cut-short", of=run.status))
    if worst.outcome == "pass" and any(warning.code == "load-ended" for warning in run.warnings):
        worst = _Result("inconclusive", worst.value, Reason("load-ended"))
    return Judgement(
        limit,
        worst.outcome,
        worst.value,
        worst.at_least,
        thread.thread,
        thread.cpu,
        thread.name,
        thread.count,
        worst.reason,
        worst.samples_missing,
        _more_ns(run, thread, worst.samples_missing),
        stalls_of(judged) if limit.percent is not None and not limit.is_response else None,
    )


def _more_ns(run: Run, thread: Thread, samples: int | None) -> int | None:
    if not (samples and run.elapsed_ns and thread.count):
        return None
    return round(samples / thread.count * run.elapsed_ns)


def _undecided(limit: Limit, reason: Reason) -> Judgement:
    return Judgement(limit, "inconclusive", reason=reason)


def _no_series(run: Run) -> Reason:
    names = dict.fromkeys(thread.name for thread in run.threads if thread.name)
    return Reason("no-series", known=[*names])


def _no_metric(run: Run) -> Reason:
    names = sorted({name for thread in run.threads for name in thread.metrics})
    return Reason("no-metric", of=run.probe, known=names)


def _find_rate(run: Run, thread: Thread, limit: Limit) -> _Result:
    """Exact limits of a Poisson rate, of 95 % confidence each (Garwood, "Fiducial Limits for the
    Poisson Distribution", Biometrika 28, 1936). A sample whose bucket has the limit counts against
    the limit where it could pass, and not where it could fail."""
    assert limit.beyond_ns is not None
    if not run.elapsed_ns:
        return _Result("inconclusive", None, Reason("not-recorded", of="the time measured"))
    lower, last, count = as_arrays(thread.histogram)
    beyond = thread.histogram.beyond_count
    most = int(count[last > limit.beyond_ns].sum()) + beyond
    most += max(thread.count, thread.histogram.total) - thread.histogram.total
    if thread.max_ns is not None and thread.max_ns <= limit.beyond_ns:
        most = 0
    least = int(count[lower > limit.beyond_ns].sum())
    least += beyond if thread.histogram.beyond_ns > limit.beyond_ns else 0
    hours = run.elapsed_ns / _HOUR_NS
    value = most / hours
    if poisson_low(least, _LEVEL) / hours > limit.value:
        return _Result("fail", least / hours)
    if poisson_high(most, _LEVEL) / hours <= limit.value:
        return _Result("pass", value)
    if value >= limit.value:
        return _Result("inconclusive", value, Reason("near-limit"))
    needs = hours
    while poisson_high(most / hours * needs, _LEVEL) / needs > limit.value:
        needs *= 1.05
    return _Result("inconclusive", value, Reason("too-short", hours, needs))


def _find(run: Run, thread: Thread, limit: Limit) -> _Result:
    if not (thread.count or limit.is_metric):
        return _Result("inconclusive", None, Reason("no-samples"))
    if limit.is_response:
        answered = responses(run, thread)
        if isinstance(answered, Reason):
            return _Result("inconclusive", None, answered)
        histogram = answered.histogram
        thread = msgspec.structs.replace(thread, histogram=histogram, count=histogram.total)
    if limit.is_rate:
        return _find_rate(run, thread, limit)
    if limit.percent is not None:
        too_much = int(limit.value) + 1 if limit.inclusive else int(limit.value)
        return _find_quantile(thread, limit.percent, too_much)
    metrics = {"max": thread.max_ns, "mean": thread.mean_ns, "missed": thread.missed}
    value = thread.metrics[limit.metric] if limit.is_metric else metrics[limit.metric]
    if value is None or math.isnan(value):
        return _Result("inconclusive", None, Reason("not-recorded", of=limit.metric))
    broken = value > limit.value or (value == limit.value and not limit.inclusive)
    return _Result("fail" if broken else "pass", value)


def _find_quantile(thread: Thread, percent: float, too_much: int) -> _Result:
    histogram = thread.histogram
    total = max(thread.count, histogram.total)
    lower, last, count = as_arrays(histogram)
    above = int(count[lower >= too_much].sum())
    if histogram.beyond_ns >= too_much:
        above += histogram.beyond_count
    not_below = int(count[last >= too_much].sum()) + histogram.beyond_count
    not_below += total - histogram.total
    if thread.max_ns is not None and thread.max_ns < too_much and not above:
        not_below = 0
    allowed = math.floor((1 - fraction_of(percent)) * total)
    quantile = quantile_ns(histogram, percent, thread.max_ns)
    value = quantile.value_ns if histogram.total == total else None
    missing = samples_needed(percent) - total
    if above > allowed and above >= SAMPLES_BEYOND:
        reason = Reason("samples-above", above) if value is None else None
        return _Result("fail", value, reason, at_least=quantile.at_least)
    if missing > 0:
        reason = Reason("too-few-samples", total, total + missing)
        return _Result("inconclusive", None, reason, samples_missing=missing)
    if not_below <= allowed:
        return _Result("pass", value)
    if histogram.total < total:
        reason = Reason("histogram-incomplete", histogram.total, total)
    else:
        reason = Reason("histogram-ends" if quantile.at_least else "buckets-too-wide")
    return _Result("inconclusive", value, reason, at_least=quantile.at_least)
