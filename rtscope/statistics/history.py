# SPDX-License-Identifier: GPL-2.0-only
"""Where a metric of many runs changed for good.

A run is one value of each metric; percentiles of several runs are never averaged. Runs are in one
series if they measured the same on the same machine: probe, load, interval, policy, CPUs, options.

Change points are found in the ranks of the values by an optimal partition (Killick, Fearnhead and
Eckley, "Optimal Detection of Changepoints With a Linear Computational Cost", Journal of the
American Statistical Association 107(500), 2012), so that one value that is far off counts no more
than one that is a little off. The paper's pruning is left out: a series is short enough to try
every place. The tests compare with the package ruptures, which no distribution has. Each point has
to be confirmed by the rank test of Mann and Whitney (Annals of Mathematical Statistics 18(1), 1947)
between its neighbouring parts. As the places are chosen by the same data, some 2 % of series
without a change have one. A part has at least five runs: with fewer no test could confirm it, and a
spike is none.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.budget import RESPONSE
from rtscope.model.errors import RtscopeError
from rtscope.model.quantity import PERIODIC
from rtscope.model.run import Run
from rtscope.statistics.distributions import normal_above, normal_quantile
from rtscope.statistics.metrics import (
    merge,
    metrics_of_run,
    percent_name,
    quantile_ns,
    samples_needed,
)
from rtscope.statistics.response import Responses, responses_of_run

LEAST_PART: Final = 5
"""runs between two change points"""
LEAST_RUNS: Final = 14
"""for a change point: with fewer even two parts that have no value in common are too alike"""
ERROR: Final = 0.003
"""of the test of all change points of a series together"""
LEVEL: Final = 0.95
_PENALTY: Final = 2.0
"""of each change point, in the logarithm of the number of runs"""


class Key(msgspec.Struct, frozen=True):
    """What the runs of a series have in common."""

    machine: str
    probe: str
    load: str
    interval_ns: int | None
    policy: str
    cpus: str
    options: str


class Change(msgspec.Struct, frozen=True):
    """A change for good."""

    before: str
    """id of the last run before it"""
    after: str
    """id of the first run after it"""
    created: str
    """when that was measured"""
    runs_since: int
    from_ns: float
    """median of the part before"""
    to_ns: float
    """median of the part after"""
    ratio: float
    """by how much values are larger, after Hodges and Lehmann"""
    low: float
    high: float
    probability: float
    """of such a difference between parts of one series"""


class MetricHistory(msgspec.Struct, frozen=True):
    """One metric of a series."""

    metric: str
    values_ns: list[float | None]
    """of each run; None where it has too few samples"""
    changes: list[Change]
    """in order of time"""
    too_few: bool
    """fewer than LEAST_RUNS have a value"""


class Measured(NamedTuple):
    """A metric of one run."""

    id: str
    created: str
    value_ns: float | None
    """None where the run has too few samples"""


class Series(msgspec.Struct, frozen=True):
    """Runs that measured the same, in order of time."""

    key: Key
    runs: list[str]
    created: list[str]
    metrics: list[MetricHistory]


def key_of(run: Run, machine: str) -> Key:
    """The series of a run on a machine of this name."""
    asked = run.asked
    return Key(
        machine=machine,
        probe=run.probe,
        load=run.load,
        interval_ns=asked.interval_ns,
        policy=",".join(sorted({f"{one.policy}:{one.priority}" for one in run.threads})),
        cpus=",".join(str(one.cpu) for one in run.threads),
        options=",".join(f"{name}={value}" for name, value in sorted(asked.options.items())),
    )


def metric_of(run: Run, metric: str) -> float | None:
    """mean, max, pNN or pNN.response of all threads of a run; None with too few samples, or where
    the response times are unknown. Raises RtscopeError.
    """
    if metric in ("mean", "max"):
        metrics = metrics_of_run(run)
        return metrics.mean_ns if metric == "mean" else metrics.max_ns
    percent = percent_of(metric)
    if metric.endswith(RESPONSE):
        told = responses_of_run(run, run.threads) if run.probe in PERIODIC else None
        if not isinstance(told, Responses):
            return None
        histogram = told.histogram
    else:
        histogram = merge([thread.histogram for thread in run.threads])
    if not histogram.total or histogram.total < samples_needed(percent):
        return None
    found = quantile_ns(histogram, percent)
    return None if found.at_least else found.value_ns


def percent_of(metric: str) -> float:
    """99.9 for p99.9 and p99.9.response. Raises RtscopeError."""
    try:
        percent = float(metric.removeprefix("p").removesuffix(RESPONSE))
    except ValueError:
        percent = math.nan
    if not metric.startswith("p") or not 0 <= percent < 100:
        raise RtscopeError(
            f"--metric {metric[:40]} is not mean, max or a percentile such as p99.9 or "
            "p99.9.response"
        )
    return percent


def series_of(runs: Sequence[tuple[Run, str]], names: Sequence[str]) -> list[Series]:
    """The series of runs with the names of their machines, the largest series first."""
    alike: dict[Key, list[Run]] = {}
    for run, machine in sorted(runs, key=lambda pair: pair[0].created):
        alike.setdefault(key_of(run, machine), []).append(run)
    found = [
        Series(
            key,
            [run.id for run in members],
            [run.created for run in members],
            [_history(members, name) for name in names],
        )
        for key, members in alike.items()
    ]
    return sorted(found, key=lambda one: -len(one.runs))


def _history(runs: Sequence[Run], name: str) -> MetricHistory:
    measured = [Measured(run.id, run.created, metric_of(run, name)) for run in runs]
    return metric_history(measured, name)


def metric_history(measured: Sequence[Measured], name: str) -> MetricHistory:
    """A metric of the runs of one series, in order of time."""
    known = [(one, one.value_ns) for one in measured if one.value_ns]
    points = changes([value for _, value in known])
    edges = [0, *(point for point, _ in points), len(known)]
    found = []
    for number, (point, probability) in enumerate(points):
        before = np.array([value for _, value in known[edges[number] : point]])
        after = np.array([value for _, value in known[point : edges[number + 2]]])
        ratio, low, high = _ratio(before, after)
        found.append(
            Change(
                before=known[point - 1][0].id,
                after=known[point][0].id,
                created=known[point][0].created,
                runs_since=len(known) - point,
                from_ns=float(np.median(before)),
                to_ns=float(np.median(after)),
                ratio=ratio,
                low=low,
                high=high,
                probability=probability,
            )
        )
    if name.startswith("p"):
        response = RESPONSE if name.endswith(RESPONSE) else ""
        name = f"{percent_name(percent_of(name))}{response}"
    values = [one.value_ns for one in measured]
    return MetricHistory(name, values, found, len(known) < LEAST_RUNS)


def changes(values: Sequence[float]) -> list[tuple[int, float]]:
    """The places at which values begin to be others, with the probability of each by chance."""
    if len(values) < LEAST_RUNS or min(values) == max(values):
        return []
    series = np.asarray(values, dtype=float)
    points = optimal_partition(series, _PENALTY * math.log(len(values)))
    while points:
        edges = [0, *points, len(values)]
        chances = [
            _chance(series[edges[number] : point], series[point : edges[number + 2]])
            for number, point in enumerate(points)
        ]
        worst = int(np.argmax(chances))
        if chances[worst] <= ERROR / len(points):
            return list(zip(points, chances, strict=True))
        del points[worst]
    return []


def optimal_partition(series: NDArray[np.float64], penalty: float) -> list[int]:
    """The starts of the parts, but the first, whose mean ranks differ most at this cost of each.

    The cost of a part is minus its squared mean rank, centred and scaled, times its length.
    """
    number = len(series)
    ranks = _ranks(series) - (number + 1) / 2
    sums = np.concatenate(([0.0], np.cumsum(ranks))) / ranks.std()
    best = np.full(number + 1, np.inf)
    best[0] = -penalty
    start = np.zeros(number + 1, dtype=int)
    for end in range(LEAST_PART, number + 1):
        starts = np.arange(end - LEAST_PART + 1)
        costs = best[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts) + penalty
        start[end] = np.argmin(costs)
        best[end] = costs[start[end]]
    points = []
    end = number
    while start[end]:
        end = int(start[end])
        points.append(end)
    return points[::-1]


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of each value, from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _chance(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """The probability of ranks that differ so much, by the normal approximation with ties."""
    both = np.concatenate((before, after))
    _, counts = np.unique(both, return_counts=True)
    ranks = _ranks(both)
    number = len(both)
    statistic = ranks[: len(before)].sum() - len(before) * (len(before) + 1) / 2
    ties = float((counts**3 - counts).sum()) / (number * (number - 1))
    variance = len(before) * len(after) / 12 * (number + 1 - ties)
    off = max(abs(statistic - len(before) * len(after) / 2) - 0.5, 0.0)
    return 2 * normal_above(off / math.sqrt(variance)) if variance else 1.0


def _ratio(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float, float]:
    """The median of all ratios, with limits that are order statistics of them (Hodges and Lehmann,
    Annals of Mathematical Statistics 34(2), 1963; Hollander and Wolfe, Nonparametric Statistical
    Methods, section 4.3)."""
    ratios = np.sort((after[:, None] / before[None, :]).ravel())
    pairs = len(ratios)
    spread = math.sqrt(pairs * (len(before) + len(after) + 1) / 12)
    rank = max(0, math.floor(pairs / 2 - normal_quantile((1 + LEVEL) / 2) * spread))
    return float(np.median(ratios)), float(ratios[rank]), float(ratios[pairs - 1 - rank])
