# SPDX-License-Identifier: GPL-2.0-only
"""Rank the causes of a run's explained samples, and what the run would be without each.

**Share.** A cause's part of the latency of all samples in the ranking. Its limits are the
percentiles 2.5 and 97.5 of that ratio over samples drawn again (bootstrap; Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, section 13.3), with fixed random numbers. Below `SAMPLES_LEAST`
samples there are none.

**Counterfactual.** The cause's time is taken from each explained sample, and the run's maximum and
p99.99 are computed again from all samples. Samples without a ledger keep their latency, so both are
upper limits. It is arithmetic: without the cause, something else may take its place.
`rtscope prove` does the experiment.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rtscope.model.cause import Cause, Ranking, Scope
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation, LedgerTerm, Remote, TermKind
from rtscope.statistics.metrics import as_arrays, merge, metrics_of_run, quantile_ns

SAMPLES_LEAST: Final = 5
_DRAWS: Final = 2000
_SEED: Final = 15
_TAIL: Final = 99.0
_DEEP: Final = 99.99

Key = tuple[TermKind, str]


def rankings(run: Run) -> list[Ranking]:
    """The ranking over all explained samples, and over those above p99 if these are others.

    Empty if no sample has a ledger.
    """
    explanations = [one for one in run.explanations if one.ledger]
    if not explanations:
        return []
    histogram = merge([thread.histogram for thread in run.threads])
    p99 = metrics_of_run(run).quantile(_TAIL).value_ns
    found = [_ranking("explained", explanations, explanations, histogram, None)]
    if p99 is not None:
        tail = [one for one in explanations if one.latency_ns > p99]
        if tail:
            found.append(_ranking("tail", tail, explanations, histogram, p99))
    return found


def key_of(term: LedgerTerm) -> Key:
    """What a term counts as: threads of one program, and calls of one sender, count together."""
    name, slash, tid = term.name.rpartition("/")
    return term.kind, name if slash and tid.isdigit() else term.name


def _ranking(
    scope: Scope,
    explanations: Sequence[Explanation],
    every: Sequence[Explanation],
    histogram: Histogram,
    above_ns: int | None,
) -> Ranking:
    latencies = np.array([one.latency_ns for one in explanations], np.int64)
    keys = list(dict.fromkeys(key_of(term) for one in explanations for term in one.ledger))
    times = np.array([_times(one, keys) for one in explanations], np.int64)
    limits = _share_limits(times, latencies)
    without = _Without(histogram, every)
    parties = {key: _party(explanations, key) for key in keys}
    causes = [
        Cause(
            kind=key[0],
            name=key[1],
            first=int((times.argmax(axis=1) == column).sum()),
            samples=int((times[:, column] > 0).sum()),
            total_ns=int(times[:, column].sum()),
            share=float(times[:, column].sum() / max(latencies.sum(), 1)),
            share_low=limits[0][column] if limits else None,
            share_high=limits[1][column] if limits else None,
            cpus=sorted({
                cpu
                for one in explanations for term in one.ledger if key_of(term) == key
                for cpu in term.cpus
            }),
            max_without_ns=without.max_ns(key),
            p9999_without_ns=without.p9999_ns(key),
            function=parties[key][0],
            remote=parties[key][1],
        )
        for column, key in enumerate(keys)
    ]  # fmt: skip
    return Ranking(
        scope=scope,
        explained=len(explanations),
        samples=histogram.total if above_ns is None else _above(histogram, above_ns),
        above_ns=above_ns,
        max_ns=without.max_ns(None),
        p9999_ns=without.p9999_ns(None),
        causes=sorted(causes, key=lambda one: (-one.total_ns, one.kind, one.name)),
    )


def _party(explanations: Sequence[Explanation], key: Key) -> tuple[str, Remote | None]:
    """The function and the other party that took the most of a cause's time."""
    found: dict[tuple[str, Remote | None], int] = {}
    for one in explanations:
        for term in one.ledger:
            if key_of(term) == key:
                party = term.function, term.remote
                found[party] = found.get(party, 0) + term.ns
    return max(found, key=lambda party: found[party])


def _times(one: Explanation, keys: Sequence[Key]) -> list[int]:
    """How long each cause took of a sample."""
    found = dict.fromkeys(keys, 0)
    for term in one.ledger:
        if (key := key_of(term)) in found:
            found[key] += term.ns
    return list(found.values())


def _share_limits(
    times: NDArray[np.int64], latencies: NDArray[np.int64]
) -> tuple[list[float], list[float]] | None:
    """The limits of each cause's share."""
    count = len(latencies)
    if count < SAMPLES_LEAST:
        return None
    draws = np.random.default_rng(_SEED).multinomial(count, [1 / count] * count, _DRAWS)
    shares = (draws @ times) / np.maximum(draws @ latencies, 1)[:, None]
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    return low.tolist(), high.tolist()


def _above(histogram: Histogram, above_ns: int) -> int:
    _, last, count = as_arrays(histogram)
    return int(count[last > above_ns].sum()) + histogram.beyond_count


class _Without:
    """A run's largest samples, and what they would be without a cause."""

    def __init__(self, histogram: Histogram, explanations: Sequence[Explanation]) -> None:
        self._explanations = explanations
        self._histogram = histogram
        lower, last, count = as_arrays(histogram)
        left = count.copy()
        for one in explanations:
            place = int(np.searchsorted(lower, one.latency_ns, side="right")) - 1
            if place >= 0 and left[place]:
                left[place] -= 1
        self._unexplained_ns = int(last[np.flatnonzero(left)[-1]]) if left.any() else 0
        self._rest = lower, last, left

    def _times(self, key: Key | None) -> list[int]:
        """The explained samples without the cause; None: as they are."""
        return [
            one.latency_ns - sum(term.ns for term in one.ledger if key_of(term) == key)
            for one in self._explanations
        ]

    def max_ns(self, key: Key | None) -> int:
        """The largest sample of the run."""
        return max(*self._times(key), self._unexplained_ns, 0)

    def p9999_ns(self, key: Key | None) -> int | None:
        """The run's p99.99; None: too few samples."""
        if quantile_ns(self._histogram, _DEEP).value_ns is None or self._histogram.beyond_count:
            return None
        lower, last, left = self._rest
        kept = left > 0
        rest = Histogram(
            lower[kept].tolist(), (last - lower + 1)[kept].tolist(), left[kept].tolist()
        )
        changed = Histogram.of(sorted(max(ns, 0) for ns in self._times(key)))
        return quantile_ns(merge([rest, changed]), _DEEP).value_ns
