# SPDX-License-Identifier: GPL-2.0-only
"""The generalised Pareto distribution of excesses over a threshold, and its return levels.

An excess y >= 0 has the survival function (1 + shape y / scale)^(-1 / shape), or exp(-y / scale)
for the shape 0 (Pickands, "Statistical Inference Using Extreme Order Statistics", Annals of
Statistics 3(1), 1975). Both parameters are fitted by maximum likelihood, for which shape / scale
is searched alone (Grimshaw, "Computing Maximum Likelihood Estimates for the Generalized Pareto
Distribution", Technometrics 35(2), 1993). Limits are those of the profile likelihood (Coles, An
Introduction to Statistical Modeling of Extreme Values, 2001, section 4.3.3): they are not
symmetric, as the upper one must not be.
"""

import math
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.statistics.distributions import normal_quantile

Floats = NDArray[np.float64]

LEAST_SHAPE: Final = -0.9
"""below -1 the likelihood has no maximum"""
EXACT_SHAPE: Final = -0.5
"""below it the limits are not exact (Smith, Biometrika 72(1), 1985)"""
_MOST_SHAPE: Final = 3.0
_SHAPES: Final = np.linspace(LEAST_SHAPE, _MOST_SHAPE, 79)
_FINER: Final = 48
"""steps of a golden section"""
_COARSER: Final = 20
"""of those whose place does not matter, only the likelihood there"""
_HALVINGS: Final = 14
"""of the distance from the estimate to a place beyond a limit"""
_FARTHEST: Final = 1e9
"""times the scale: an upper limit beyond is none"""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_EXPONENTIAL: Final = 1e-7
"""a shape that is as good as 0"""


class Pareto(msgspec.Struct, frozen=True):
    """A fitted distribution of excesses."""

    shape: float
    scale: float
    """in the unit of the excesses"""
    log_likelihood: float
    number: int
    """of excesses"""

    @property
    def shape_error(self) -> float:
        """Asymptotic standard error of the shape (Smith 1987); for shapes above -0.5."""
        return (1 + max(self.shape, -0.5)) / math.sqrt(self.number)

    def log_survival(self, excess: Floats | float) -> Floats:
        """The logarithm of the probability that an excess is larger; -inf beyond the end."""
        return _log_survival(np.asarray(excess, dtype=float), self.shape, self.scale)

    def level(self, number: float) -> float:
        """The excess that one of `number` excesses is expected to reach."""
        return self.scale * growth(self.shape, number)


class Limits(msgspec.Struct, frozen=True):
    """Limits of confidence; None is no upper limit."""

    low: float
    high: float | None


def fit(excesses: Floats) -> Pareto:
    """Fit to at least two excesses, none below 0, that are not all 0."""
    largest = float(excesses.max())
    ratios = np.concatenate((-1 + np.logspace(-7, -0.01, 60), np.logspace(-2, 4, 60))) / largest
    values = np.array([_of_ratio(excesses, ratio).log_likelihood for ratio in ratios])
    best = int(values.argmax())
    low, high = ratios[max(best - 1, 0)], ratios[min(best + 1, len(ratios) - 1)]
    ratio = _highest(lambda one: _of_ratio(excesses, one).log_likelihood, low, high)
    fitted = _of_ratio(excesses, ratio)
    mean = float(excesses.mean())
    exponential = Pareto(0.0, mean, -len(excesses) * (math.log(mean) + 1), len(excesses))
    better = fitted.log_likelihood > exponential.log_likelihood
    return fitted if better and abs(fitted.shape) >= _EXPONENTIAL else exponential


def shape_limits(excesses: Floats, fitted: Pareto, level: float) -> Limits:
    """Limits of the shape."""
    largest, mean = float(excesses.max()), float(excesses.mean())

    def profile(shape: float) -> float:
        least = max(-shape * largest, 0.0) + mean * 1e-6
        return _peak(
            lambda scale: _likelihood(excesses, shape, scale),
            np.geomspace(least, max(least, mean) * 100, 60),
        )

    far = 8 * fitted.shape_error
    highest, least = fitted.log_likelihood, max(fitted.shape - far, LEAST_SHAPE)
    low = _crossing(profile, highest, fitted.shape, least, level)
    high = _crossing(profile, highest, fitted.shape, fitted.shape + far, level)
    return Limits(LEAST_SHAPE if low is None else low, high)


def level_limits(excesses: Floats, fitted: Pareto, number: float, level: float) -> Limits:
    """Limits of the excess that one of `number` excesses is expected to reach; number > 1."""

    def profile(reached: float) -> float:
        return _peak(
            lambda shape: _likelihood(excesses, shape, reached / growth(shape, number)), _SHAPES
        )

    return profile_limits(
        profile, fitted.log_likelihood, fitted.level(number), _FARTHEST * fitted.scale, level
    )


def profile_limits(
    profile: Callable[[float], float],
    highest: float,
    middle: float,
    farthest: float,
    level: float,
) -> Limits:
    """Limits of a value above 0 with this profile likelihood, which is highest at `middle`. An
    upper limit beyond `farthest` is none."""
    low = _crossing(profile, highest, middle, middle * 1e-3, level)
    far = middle
    while far < farthest:
        far *= 2
        if profile(far) < highest - _drop(level):
            high = _crossing(profile, highest, middle, far, level)
            return Limits(low or 0.0, high)
    return Limits(low or 0.0, None)


def scale_ratio(ordered: Floats, fitted: Pareto, largest: int) -> float:
    """Twice the logarithm of the likelihood ratio of two models for ascending excesses: the largest
    few have a scale of their own over the largest of the others; or the one that follows from the
    fit. Chi-square with one degree of freedom if it follows."""
    below, above = ordered[:-largest], ordered[-largest:] - ordered[-largest - 1]
    far = 6 * fitted.shape_error

    def profile(shape: float) -> float:
        body = _best_of_scale(below, largest, shape, fitted.scale)
        return body + _best_of_scale(above, 0, shape, float(above.mean()))

    shapes = np.linspace(max(fitted.shape - far, LEAST_SHAPE), fitted.shape + far, 21)
    return max(0.0, 2 * (_peak(profile, shapes) - fitted.log_likelihood))


def _best_of_scale(excesses: Floats, beyond: int, shape: float, near: float) -> float:
    """The likelihood of the best scale for a shape; `beyond` more excesses are larger."""
    farthest = float(excesses.max())

    def of_scale(scale: float) -> float:
        rest = float(_log_survival(np.asarray(farthest), shape, scale)) if beyond else 0.0
        return _likelihood(excesses, shape, scale) + beyond * rest

    least = max(near / 8, -shape * farthest * (1 + 1e-9))
    return of_scale(_highest(of_scale, least, max(near * 8, least * 8), _COARSER))


def _drop(level: float) -> float:
    return normal_quantile((1 + level) / 2) ** 2 / 2


def growth(shape: float, number: float) -> float:
    """The excess, in scales, that one of `number` excesses is expected to reach."""
    if abs(shape) < _EXPONENTIAL:
        return math.log(number)
    return math.expm1(min(shape * math.log(number), 700.0)) / shape


def _log_survival(excess: Floats, shape: float, scale: float) -> Floats:
    if abs(shape) < _EXPONENTIAL:
        return -excess / scale
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log1p(np.maximum(shape * excess / scale, -1.0))
    return np.asarray(-inside / shape)


def _likelihood(excesses: Floats, shape: float, scale: float) -> float:
    if scale <= 0 or shape * float(excesses.max()) / scale <= -1:
        return -math.inf
    if abs(shape) < _EXPONENTIAL:
        return -len(excesses) * math.log(scale) - float(excesses.sum()) / scale
    logs = float(np.log1p(shape * excesses / scale).sum())
    return -len(excesses) * math.log(scale) - (1 + 1 / shape) * logs


def _of_ratio(excesses: Floats, ratio: float) -> Pareto:
    """The best of the distributions with this shape / scale, which is not 0."""
    number = len(excesses)
    total = float(np.log1p(ratio * excesses).sum())
    shape = total / number
    if shape < LEAST_SHAPE or shape / ratio <= 0:
        return Pareto(shape, 1.0, -math.inf, number)
    scale = shape / ratio
    return Pareto(shape, scale, -number * (math.log(scale) + 1) - total, number)


def _peak(function: Callable[[float], float], places: Floats) -> float:
    values = [function(float(place)) for place in places]
    best = int(np.argmax(values))
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    return max(values[best], function(_highest(function, float(low), float(high), _COARSER)))


def _highest(
    function: Callable[[float], float], low: float, high: float, steps: int = _FINER
) -> float:
    """The place of the only maximum between two places, by the golden section. It is a place where
    the function was computed, since a maximum may be at the edge of what is possible."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return left if at_left > at_right else right


def _crossing(
    profile: Callable[[float], float],
    highest: float,
    middle: float,
    far: float,
    level: float,
) -> float | None:
    """Where the profile falls below the limit between the estimate and a place far from it; None if
    it does not."""
    least = highest - _drop(level)
    if profile(far) >= least:
        return None
    inside, outside = middle, far
    for _ in range(_HALVINGS):
        between = (inside + outside) / 2
        if profile(between) >= least:
            inside = between
        else:
            outside = between
    return (inside + outside) / 2
