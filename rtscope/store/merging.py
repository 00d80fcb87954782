# SPDX-License-Identifier: GPL-2.0-only
"""The samples of many runs together: their histograms are merged, percentiles never averaged."""

from collections.abc import Iterator, Sequence, Set
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.quantity import PERIODIC
from rtscope.model.reason import Reason
from rtscope.model.run import Run
from rtscope.statistics.metrics import PERCENTS, Quantile, merge, quantiles_or_reason
from rtscope.statistics.response import Responses, responses_of_run
from rtscope.store.database import Store
from rtscope.store.responses import MISSED
from rtscope.store.search import Search
from rtscope.store.summary import Summary

_AT_ONCE: Final = 64
"""runs whose histograms are held before they are merged"""


class Merged(msgspec.Struct, frozen=True):
    """Runs of one host, kernel, probe and load."""

    host: str | None
    kernel: str | None
    probe: str
    load: str
    runs: int
    count: int
    """samples"""
    max_ns: int | None
    quantiles: list[Quantile]
    """one for each of statistics.metrics.PERCENTS"""
    responses: list[Quantile] = []
    """the same with the missed periods filled in; empty if no run missed one"""


def merged_runs(store: Store, runs: Sequence[Summary]) -> list[Merged]:
    """The runs of each host, kernel, probe and load together, in the order of the first of each.

    Raises RtscopeError.
    """
    groups: dict[tuple[str | None, str | None, str, str], list[Summary]] = {}
    for run in runs:
        groups.setdefault((run.host, run.kernel, run.probe, run.load), []).append(run)
    late: set[str] = set()
    if any(run.probe in PERIODIC for run in runs):
        late = {run.id for run in store.found(Search(metrics=(MISSED,)))}
    return [_merged(store, group, late) for group in groups.values()]


def _merged(store: Store, runs: Sequence[Summary], late: Set[str]) -> Merged:
    """`late` are the runs that missed periods."""
    one, count = runs[0], sum(run.count for run in runs)
    max_ns = max((run.max_ns for run in runs if run.max_ns is not None), default=None)
    on_time = Histogram()
    for part in _parts([run.id for run in runs if run.id not in late]):
        found = [of_run for _, of_runs in store.histograms(part) for of_run in of_runs]
        on_time = merge([on_time, *found], keep=False)
    samples = answers = on_time
    unknown: Reason | None = None
    for part in _parts([run.id for run in runs if run.id in late]):
        missed = [_sound(run) for _, run in store.read(part)]
        samples = merge(
            [samples, *(thread.histogram for run in missed for thread in run.threads)], keep=False
        )
        for run in missed:
            answered = responses_of_run(run, run.threads)
            if isinstance(answered, Responses):
                answers = merge([answers, answered.histogram], keep=False)
            else:
                unknown = answered
    responses: list[Quantile] = []
    if unknown:
        responses = [Quantile(percent, None, reason=unknown) for percent in PERCENTS]
    elif answers is not samples:
        responses = quantiles_or_reason(answers, answers.total, max_ns)
    return Merged(
        one.host, one.kernel, one.probe, one.load, len(runs), count, max_ns,
        quantiles_or_reason(samples, count, max_ns), responses if one.probe in PERIODIC else [],
    )  # fmt: skip


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(ids), _AT_ONCE):
        yield ids[first : first + _AT_ONCE]


def _sound(run: Run | RtscopeError) -> Run:
    if isinstance(run, RtscopeError):
        raise run
    return run
