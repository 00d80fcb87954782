# SPDX-License-Identifier: GPL-2.0-only
"""Distributions of scipy, which is imported on first use because that takes longer than most
commands."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def student_quantile(freedom: float, probability: float) -> float:
    """The quantile of Student's t distribution."""
    from scipy import special

    return float(special.stdtrit(freedom, probability))


def detectable(freedom: float, t: float, power: float) -> float:
    """The noncentrality at which Student's t exceeds `t` with this power."""
    from scipy import special

    return float(special.nctdtrinc(freedom, 1 - power, t))


def student_below(freedom: float, t: float) -> float:
    """The cumulative distribution function of Student's t."""
    from scipy import special

    return float(special.stdtr(freedom, t))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy import special

    return float(special.ndtri(probability))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    from scipy import special

    return float(special.betainc(a, b, x))


def f_above(numerator: float, denominator: float, value: float) -> float:
    """The survival function of the F distribution."""
    from scipy import special

    return float(special.fdtrc(numerator, denominator, value))


def chi_square_above(freedom: float, value: float) -> float:
    """The survival function of the chi-square distribution."""
    from scipy import special

    return float(special.chdtrc(freedom, value))


def chi_square_quantile(freedom: float, probability: float) -> float:
    """The quantile of the chi-square distribution."""
    from scipy import special

    return float(special.chdtri(freedom, 1 - probability))


def normal_above(value: float) -> float:
    """The survival function of the standard normal distribution."""
    from scipy import special

    return float(special.ndtr(-value))


def poisson_high(events: float, level: float) -> float:
    """The upper limit of the expected number, after this number of events."""
    from scipy import special

    return float(special.gammaincinv(events + 1, level))


def poisson_low(events: float, level: float) -> float:
    """The lower limit of the expected number, after this number of events."""
    from scipy import special

    return float(special.gammaincinv(events, 1 - level)) if events else 0.0


def lowest(function: Callable[[Floats], float], start: Sequence[float]) -> list[float]:
    """The place of a minimum near `start`, by the downhill simplex of Nelder and Mead."""
    from scipy import optimize

    found = optimize.minimize(
        function, np.array(start), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-5}
    )
    return [float(one) for one in found.x]
