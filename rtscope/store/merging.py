# SPDX-License-Identifier: GPL-2.0-only
"""The samples of many runs together: their histograms are merged, percentiles never averaged."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.histogram import Histogram
from rtscope.statistics.metrics import Quantile, merge, quantiles_or_reason
from rtscope.store.database import Store
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


def merged_runs(store: Store, runs: Sequence[Summary]) -> list[Merged]:
    """The runs of each host, kernel, probe and load together, in the order of the first of each.

    Raises RtscopeError.
    """
    groups: dict[tuple[str | None, str | None, str, str], list[Summary]] = {}
    for run in runs:
        groups.setdefault((run.host, run.kernel, run.probe, run.load), []).append(run)
    return [_merged(store, group) for group in groups.values()]


def _merged(store: Store, runs: Sequence[Summary]) -> Merged:
    total = Histogram()
    for first in range(0, len(runs), _AT_ONCE):
        part = [run.id for run in runs[first : first + _AT_ONCE]]
        found = [one for _, histograms in store.histograms(part) for one in histograms]
        total = merge([total, *found])
    maxima = [run.max_ns for run in runs if run.max_ns is not None]
    max_ns = max(maxima, default=None)
    one, count = runs[0], sum(run.count for run in runs)
    return Merged(
        one.host, one.kernel, one.probe, one.load, len(runs), count, max_ns,
        quantiles_or_reason(total, count, max_ns),
    )  # fmt: skip
