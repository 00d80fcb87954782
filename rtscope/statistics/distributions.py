# SPDX-License-Identifier: GPL-2.0-only
"""Distributions, as scipy has them: it takes longer to import than most commands take to end, so
that only what comes to a figure of these waits for it."""


def student_quantile(freedom: float, probability: float) -> float:
    """The t that Student's distribution of so many degrees of freedom stays below so often."""
    from scipy import special

    return float(special.stdtrit(freedom, probability))


def student_below(freedom: float, t: float) -> float:
    """How often Student's distribution stays below t."""
    from scipy import special

    return float(special.stdtr(freedom, t))


def normal_quantile(probability: float) -> float:
    """The z that the standard normal distribution stays below so often."""
    from scipy import special

    return float(special.ndtri(probability))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    from scipy import special

    return float(special.betainc(a, b, x))


def f_above(numerator: float, denominator: float, value: float) -> float:
    """How often Fisher's distribution of so many degrees of freedom exceeds a value."""
    from scipy import special

    return float(special.fdtrc(numerator, denominator, value))
