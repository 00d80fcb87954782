# SPDX-License-Identifier: GPL-2.0-only
"""Block maxima: a second way to the same return levels, which needs no clusters.

The largest sample of each of equal parts of the run has, for long parts, a generalised extreme
value distribution (Fisher and Tippett 1928; Coles, An Introduction to Statistical Modeling of
Extreme Values, 2001, chapter 3). Its limits are wider than those of the peaks over a threshold,
because it uses one sample of each block; that both agree is the check. The excess that is reached
once in m blocks is location + scale (m^shape - 1) / shape, as for peaks. Limits are those of the
profile likelihood.
"""

import math
from typing import Final

import msgspec
import numpy as np

from rtscope.statistics.distributions import lowest
from rtscope.statistics.tail.clusters import Clusters
from rtscope.statistics.tail.pareto import LEAST_SHAPE, Floats, Limits, growth, profile_limits

LEAST_BLOCKS: Final = 20
_CLUSTERS: Final = 15
"""of a block on average: one block of 3 million has none"""
_EULER: Final = 0.5772156649
_STRAIGHT: Final = 0.05
"""shape of a tail with which a search begins: about that of a Gumbel distribution"""
_IMPOSSIBLE: Final = 1e300
"""what a distribution costs that could not give the excesses"""
_FARTHEST: Final = 1e9
"""times the scale: an upper limit beyond is none"""


class Maxima(msgspec.Struct, frozen=True):
    """The fitted distribution of the largest excess of a block."""

    shape: float
    scale: float
    location: float
    log_likelihood: float
    excesses: Floats

    def level(self, blocks: float) -> float:
        """The excess that is reached once in so many blocks."""
        return self.location + self.scale * growth(self.shape, blocks)


def block_maxima(found: Clusters, threshold: float, periods: float) -> Floats | None:
    """The largest excess of each of equal parts of a run with so many sample periods; None with too
    few clusters."""
    blocks = len(found.times) // _CLUSTERS
    while blocks >= LEAST_BLOCKS:
        place = np.minimum((found.times * blocks / periods).astype(int), blocks - 1)
        largest = np.full(blocks, -math.inf)
        np.maximum.at(largest, place, found.maxima - threshold)
        if np.isfinite(largest).all():
            return largest
        blocks = blocks * 3 // 4
    return None


def fit(excesses: Floats) -> Maxima:
    """Fit by maximum likelihood, from the moments of a Gumbel distribution on."""
    scale = max(float(excesses.std()) * math.sqrt(6) / math.pi, 1e-3)
    start = [float(excesses.mean()) - _EULER * scale, math.log(scale), _STRAIGHT]

    def cost(place: Floats) -> float:
        return -_likelihood(excesses, place[0], math.exp(place[1]), place[2])

    location, log_scale, shape = lowest(cost, start)
    best = -cost(np.array([location, log_scale, shape]))
    return Maxima(shape, math.exp(log_scale), location, best, excesses)


def level_limits(fitted: Maxima, blocks: float, level: float) -> Limits:
    """Limits of the excess that is reached once in so many blocks; blocks > 1."""
    near = np.array([math.log(fitted.scale), fitted.shape])
    straight = growth(_STRAIGHT, blocks)

    def profile(reached: float) -> float:
        def cost(place: Floats) -> float:
            scale = math.exp(min(place[0], 300.0))
            location = reached - scale * growth(place[1], blocks)
            return -_likelihood(fitted.excesses, location, scale, place[1])

        start = near
        if cost(near) >= _IMPOSSIBLE:
            scale = max(reached - fitted.location, fitted.scale / 10) / straight
            start = np.array([math.log(scale), _STRAIGHT])
        near[:] = lowest(cost, [*start])
        return -cost(near)

    middle, farthest = fitted.level(blocks), _FARTHEST * fitted.scale
    return profile_limits(profile, fitted.log_likelihood, middle, farthest, level)


def _likelihood(excesses: Floats, location: float, scale: float, shape: float) -> float:
    if not LEAST_SHAPE <= shape <= 3:
        return -_IMPOSSIBLE
    reduced = (excesses - location) / scale
    if abs(shape) > 1e-7:
        inside = 1 + shape * reduced
        if inside.min() <= 0:
            return -_IMPOSSIBLE
        reduced = np.log(inside) / shape
    if reduced.min() < -700:
        return -_IMPOSSIBLE
    number = len(excesses)
    return float(-number * math.log(scale) - (1 + shape) * reduced.sum() - np.exp(-reduced).sum())
