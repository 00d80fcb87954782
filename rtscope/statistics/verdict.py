# SPDX-License-Identifier: GPL-2.0-only
"""Whether a run meets its limits: pass, fail, or inconclusive from what was measured.

A limit holds for every thread. A quantile's limit is judged by counting the samples at or above it:
a thread may have at most floor(n (1 - p)) of them, which is the same as saying that the sample of
rank ceil(p n) is below the limit. Ten samples decide in either direction (see figures.py): too few
samples beyond the quantile cannot pass a limit, ten samples above it fail it however short the run
was. A run that was cut short can fail a limit but not pass it.

A limit on a fact of the probe holds for every thread that has it, a limit on a series for the
threads of that name; where there is no such thread the verdict is inconclusive.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Thread
from rtscope.model.units import counted, format_ns
from rtscope.statistics.figures import (
    SAMPLES_BEYOND,
    as_arrays,
    fraction_of,
    hides_stalls,
    quantile_ns,
    samples_needed,
)

Outcome = Literal["pass", "fail", "inconclusive"]
_ORDER: dict[Outcome, int] = {"pass": 0, "inconclusive": 1, "fail": 2}


class Judgement(msgspec.Struct, frozen=True):
    """The verdict on one limit, decided by its worst thread."""

    limit: Limit
    outcome: Outcome
    sentence: str
    """outcome, value with its unit, and where; ready to print"""
    value: float | None = None
    """ns, a count for missed, or a fact as it is; None where it is not known"""
    thread: int | None = None
    cpu: int | None = None
    samples_missing: int | None = None
    """how many more samples this thread needs, where that is why it is inconclusive"""
    missed: int = 0
    """missed periods of the judged threads, which a limit on a plain percentile leaves out"""


class _Finding(msgspec.Struct, frozen=True):
    outcome: Outcome
    value: float | None
    why: str = ""
    samples_missing: int | None = None
    at_least: bool = False


def judge(run: Run, limits: Sequence[Limit]) -> list[Judgement]:
    """One judgement for each limit, in order."""
    return [_judge(run, limit) for limit in limits]


def judge_by_own(run: Run) -> list[Judgement]:
    """One judgement for each limit of the run's own budget; one that cannot be read says so."""
    return [_judge_text(run, text) for text in run.asked.budget]


def _judge_text(run: Run, text: str) -> Judgement:
    try:
        return _judge(run, parse_limit(text))
    except RtscopeError:
        unread = Limit(figure="", value=0, inclusive=False, text=text)
        return _undecided(unread, "this limit cannot be read")


def exit_code(judgements: Sequence[Judgement]) -> int:
    """0 when every limit passes, else 1: an inconclusive limit is inconclusive to be met."""
    return int(any(judgement.outcome != "pass" for judgement in judgements))


def _judge(run: Run, limit: Limit) -> Judgement:
    judged = [thread for thread in run.threads if limit.series in ("", thread.name)]
    if not judged:
        return _undecided(limit, _no_series(run))
    if limit.is_fact:
        judged = [thread for thread in judged if limit.figure in thread.facts]
        if not judged:
            return _undecided(limit, _no_fact(run))
    elif not any(thread.count for thread in judged):
        return _undecided(limit, "the run has no samples")
    findings = [(thread, _find(thread, limit)) for thread in judged]
    thread, worst = max(
        findings,
        key=lambda pair: (
            _ORDER[pair[1].outcome],
            pair[1].samples_missing or 0,
            pair[1].value or 0,
        ),
    )
    if worst.outcome == "pass" and run.status != "complete":
        worst = _Finding("inconclusive", worst.value, f"the run was cut short ({run.status})")
    if worst.outcome == "pass" and any(warning.code == "load-ended" for warning in run.warnings):
        worst = _Finding("inconclusive", worst.value, "its load ended before the run did")
    return Judgement(
        limit,
        worst.outcome,
        _sentence(limit, worst, thread) + _stalls(limit, judged),
        worst.value,
        thread.thread,
        thread.cpu,
        worst.samples_missing,
        missed=sum(one.missed or 0 for one in judged) if limit.percent is not None else 0,
    )


def _undecided(limit: Limit, why: str) -> Judgement:
    return Judgement(limit, "inconclusive", f"{limit.text}: inconclusive, {why}")


def _stalls(limit: Limit, threads: Sequence[Thread]) -> str:
    hidden = hides_stalls(threads) if limit.percent is not None else ""
    return f"; {hidden}" if hidden else ""


def _no_series(run: Run) -> str:
    names = list(dict.fromkeys(thread.name for thread in run.threads if thread.name))
    known = ", ".join(names) or "threads without a name"
    return f"no thread of this run is called so, only {known}"


def _no_fact(run: Run) -> str:
    names = sorted({name for thread in run.threads for name in thread.facts})
    if not names:
        return f"this run of {run.probe} has no such fact, nor any other"
    return f"this run of {run.probe} has no such fact; it has {', '.join(names)}"


def _sentence(limit: Limit, finding: _Finding, thread: Thread) -> str:
    where = f"thread {thread.thread}" if thread.cpu is None else f"CPU {thread.cpu}"
    where = f"{thread.name} on {where}" if thread.name else where
    value = ""
    if finding.value is not None:
        plain = f"{finding.value:,.0f}" if finding.value % 1 == 0 else f"{finding.value:,.4g}"
        number = format_ns(finding.value) if limit.in_ns else plain
        value = f"{limit.figure} is {'at least ' if finding.at_least else ''}{number}"
    place = "worst on" if finding.outcome == "pass" else "on"
    return f"{limit.text}: {finding.outcome}, {'; '.join(part for part in (value, finding.why) if part)} ({place} {where}, {counted(thread.count, 'sample')})"  # noqa: E501


def _find(thread: Thread, limit: Limit) -> _Finding:
    if not (thread.count or limit.is_fact):
        return _Finding("inconclusive", None, "no samples")
    if limit.percent is not None:
        too_much = int(limit.value) + 1 if limit.inclusive else int(limit.value)
        return _find_quantile(thread, limit.percent, too_much)
    figures = {"max": thread.max_ns, "mean": thread.mean_ns, "missed": thread.missed}
    value = thread.facts[limit.figure] if limit.is_fact else figures[limit.figure]
    if value is None or math.isnan(value):
        return _Finding("inconclusive", None, f"{limit.figure} was not recorded")
    broken = value > limit.value or (value == limit.value and not limit.inclusive)
    return _Finding("fail" if broken else "pass", value)


def _find_quantile(thread: Thread, percent: float, too_much: int) -> _Finding:
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
        why = "" if value is not None else f"{counted(above, 'sample')} above the limit"
        return _Finding("fail", value, why, at_least=quantile.at_least)
    if missing > 0:
        return _Finding(
            "inconclusive",
            None,
            f"{counted(missing, 'more sample')} needed for this quantile",
            samples_missing=missing,
        )
    if not_below <= allowed:
        return _Finding("pass", value)
    if histogram.total < total:
        why = f"the histogram holds only {histogram.total:,} of {total:,} samples"
    elif quantile.at_least:
        why = "the histogram ends below the limit"
    else:
        why = "the histogram's buckets are too wide to tell"
    return _Finding("inconclusive", value, why, at_least=quantile.at_least)
