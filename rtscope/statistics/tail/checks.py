# SPDX-License-Identifier: GPL-2.0-only
"""Tests of what a bound on a tail assumes. Each gives the probability that data for which the
assumption holds look at least as bad, and is far from exact where that is below 1e-6."""

import math
from typing import Final

import numpy as np

from rtscope.statistics.distributions import chi_square_above, normal_above
from rtscope.statistics.tail.clusters import Clusters
from rtscope.statistics.tail.pareto import LEAST_SHAPE, Floats, Pareto, fit, scale_ratio

PARTS: Final = 10
"""of the run, between which a drift is looked for"""
_LEAST_MORE: Final = 0.1
"""share of the clusters that a lower threshold has more; other gaps separate them over each, so
that a higher one may have as many"""
_LARGEST: Final = 0.05
"""share of the excesses that may be of another distribution"""
_HEAVIEST: Final = 0.5
"""shape from which on the variance is infinite"""
_DRAWS: Final = 2000
_SEED: Final = 1


def drift_in_number(found: Clusters, periods: float) -> float:
    """Whether the clusters are spread evenly over the run, which has so many sample periods: the
    chi-square test on their number in equal parts of it."""
    counts, _ = np.histogram(found.times, bins=PARTS, range=(0, periods))
    expected = len(found.times) / PARTS
    return chi_square_above(PARTS - 1, float(((counts - expected) ** 2 / expected).sum()))


def drift_in_size(found: Clusters, periods: float) -> float:
    """Whether clusters are as large in each part of the run: the test of Kruskal and Wallis
    (Journal of the American Statistical Association 47, 1952)."""
    parts = np.minimum((found.times * PARTS / periods).astype(int), PARTS - 1)
    ranks, number = _ranks(found.maxima), len(found.times)
    groups = [ranks[parts == part] for part in range(PARTS) if (parts == part).any()]
    between = sum(len(group) * (group.mean() - (number + 1) / 2) ** 2 for group in groups)
    return chi_square_above(len(groups) - 1, float(12 / (number * (number + 1)) * between))


def dependence(values: Floats) -> float:
    """Whether neighbours are alike: the rank correlation of each value with the next one. Values
    that are all the same have none."""
    ranks = _ranks(values)
    if ranks.min() == ranks.max():
        return 1.0
    correlation = float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1])
    return 2 * normal_above(abs(correlation) * math.sqrt(len(values) - 2))


def mixture(excesses: Floats) -> float:
    """Whether the largest excesses are of another distribution than the rest.

    A rare distribution that is hidden in the tail shows where the largest excesses move the fit too
    far (the idea of TailID: Manau, Vilardell, Serra, Mezzetti, Abella and Cazorla, "Detecting
    Low-Density Mixtures in High-Quantile Tails for pWCET Estimation", ECRTS 2025,
    doi:10.4230/LIPIcs.ECRTS.2025.20). Here the 1, 2, 4, ... largest may have another scale than
    what the rest predicts: a likelihood ratio tells whether they need it.
    """
    ordered = np.sort(excesses)
    fitted = fit(ordered)
    numbers = [1 << power for power in range(12) if 1 << power <= len(ordered) * _LARGEST]
    ratios = [scale_ratio(ordered, fitted, number) for number in numbers]
    return min(1.0, len(numbers) * chi_square_above(1, max(ratios)))


def instability(lower: Pareto, higher: Pareto) -> float:
    """Whether the shape is another over a higher threshold. Of two estimates from nested data of
    which the one from more data is efficient, the difference has the difference of their variances
    (Hausman, "Specification Tests in Econometrics", Econometrica 46(6), 1978)."""
    more = max(lower.number / higher.number - 1, _LEAST_MORE)
    variance = lower.shape_error**2 * more
    return 2 * normal_above(abs(higher.shape - lower.shape) / math.sqrt(variance))


def heaviness(fitted: Pareto) -> float:
    """Whether the tail is no heavier than one of infinite variance. Two causes with very different
    latencies look like one tail that is heavier, and its levels would mean nothing."""
    error = (1 + _HEAVIEST) / math.sqrt(fitted.number)
    return normal_above((fitted.shape - _HEAVIEST) / error)


def prediction(earlier: Floats, later: Floats) -> float:
    """Whether the largest of the later excesses is what a fit to the earlier ones predicts, neither
    larger nor smaller, with the fit's uncertainty."""
    fitted = fit(earlier)
    shape = max(fitted.shape, -0.45)
    error = fitted.scale / math.sqrt(fitted.number)
    covariance = (1 + shape) * np.array(
        [
            [(1 + shape) / fitted.number, -error / math.sqrt(fitted.number)],
            [-error / math.sqrt(fitted.number), 2 * error**2],
        ]
    )
    random = np.random.default_rng(_SEED)
    draws = random.multivariate_normal([fitted.shape, fitted.scale], covariance, _DRAWS)
    largest = float(later.max())
    below = [
        math.exp(len(later) * math.log1p(-_survival(largest, float(drawn), float(scale))))
        for drawn, scale in draws
        if drawn > LEAST_SHAPE and scale > 0
    ]
    share = float(np.mean(below))
    return 2 * min(share, 1 - share)


def _survival(excess: float, shape: float, scale: float) -> float:
    return min(float(np.exp(Pareto(shape, scale, 0.0, 0).log_survival(excess))), 1 - 1e-12)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values have the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=float)
