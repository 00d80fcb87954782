# SPDX-License-Identifier: GPL-2.0-only
"""How a time shrinks with the number of threads: two laws fitted to it, and whether they hold.

**Amdahl's law** (Amdahl, "Validity of the Single Processor Approach to Achieving Large Scale
Computing Capabilities", AFIPS Spring Joint Computer Conference, 1967): of the time T1 of one
thread the serial fraction s stays and the rest is divided,

    T(n) = T1 (s + (1 - s) / n).

**The Universal Scalability Law** (Gunther, "A Simple Capacity Model of Massively Parallel
Transaction Systems", CMG 1993; Guerrilla Capacity Planning, 2007, chapter 4) adds what threads cost
each other: contention a, which queues, and coherency b, for which each of them waits for each other
one,

    T(n) = T1 (1 + a (n - 1) + b n (n - 1)) / n,

so that with b > 0 there is a fastest number of threads, sqrt((1 - a) / b). With b = 0 it is
Amdahl's law with s = a. Negative parameters are allowed: they mean that threads speed each other
up, for example if each brings its own cache.

Both are fitted to the logarithms of the times by least squares, for the noise of a time grows with
the time. Limits of a parameter are Student's t around it with the standard error that the fit's
Jacobian and residuals give (Bates and Watts, Nonlinear Regression Analysis and Its Applications,
1988, section 2.3). They hold where the law does. Whether it does is tested against the spread of
times at the same number of threads, by the F test of lack of fit (Draper and Smith, Applied
Regression Analysis, 3rd ed. 1998, section 2.1).
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.distributions import f_above, student_quantile

Law = Literal["Amdahl", "USL"]

SMALLEST_MISFIT: Final = 0.05
"""of a time: a law whose errors are all smaller fits, even if they are significant"""
_LEAST_SHARE: Final = 1e-9

Floats = NDArray[np.float64]


class Parameter(msgspec.Struct, frozen=True):
    """A fitted value and its 95 % limits, which are None without degrees of freedom."""

    value: float
    low: float | None
    high: float | None


class Fit(msgspec.Struct, frozen=True):
    """One law fitted to times by number of threads."""

    law: Law
    one_thread_ns: Parameter
    contention: Parameter
    """the serial fraction s of Amdahl's law, a of the USL"""
    coherency: Parameter | None
    """b of the USL; None for Amdahl's law"""
    residuals: dict[int, float]
    """by number of threads, the excess of the mean time over the law, relative to the law"""
    misfit_p: float | None
    """of the test of lack of fit; None without degrees of freedom"""

    def time_ns(self, threads: float) -> float:
        """The time of this number of threads according to the law."""
        parameters = [self.contention.value]
        if self.coherency:
            parameters.append(self.coherency.value)
        return self.one_thread_ns.value * float(_SHARES[self.law](np.array(threads), *parameters))

    @property
    def holds(self) -> bool:
        """Whether the law fits: no time differs from it significantly and by 5 %."""
        worst = max(map(abs, self.residuals.values()))
        sure = self.misfit_p is not None and self.misfit_p <= 1 - LEVEL
        return not sure or worst < SMALLEST_MISFIT

    @property
    def fastest(self) -> float | None:
        """The number of threads beyond which more are slower; None if there is none."""
        if not self.coherency or self.coherency.value <= 0 or self.contention.value >= 1:
            return None
        return math.sqrt((1 - self.contention.value) / self.coherency.value)


def _amdahl(n: Floats, serial: float) -> Floats:
    return np.asarray(serial + (1 - serial) / n)


def _usl(n: Floats, contention: float, coherency: float) -> Floats:
    return np.asarray((1 + contention * (n - 1) + coherency * n * (n - 1)) / n)


_SHARES: Final[dict[Law, Callable[..., Floats]]] = {"Amdahl": _amdahl, "USL": _usl}


def fit(law: Law, threads: Sequence[int], times_ns: Sequence[float]) -> Fit | None:
    """Fit a law to times, one for each number of threads in `threads`, which may come repeatedly.

    None where there are not as many different numbers of threads as the law has parameters.
    Raises ValueError where a time or a number of threads is not positive.
    """
    n, times = np.array(threads, dtype=np.float64), np.array(times_ns, dtype=np.float64)
    if len(n) != len(times) or (n < 1).any() or (times <= 0).any():
        raise ValueError("every time needs a number of threads, and both are positive")
    if len(np.unique(n)) < (2 if law == "Amdahl" else 3):
        return None
    from scipy import optimize  # noqa: PLC0415 - for the reason of distributions.py

    share = _SHARES[law]

    def logarithm(n: Floats, scale: float, *parameters: float) -> Floats:
        return np.asarray(scale + np.log(np.maximum(share(n, *parameters), _LEAST_SHARE)))

    found: Any
    covariance: Any
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        found, covariance = optimize.curve_fit(
            logarithm, n, np.log(times), p0=_first_guess(law, n, times)
        )
    values = _limits(found, covariance, len(n) - len(found))
    residual = np.log(times) - logarithm(n, *found)
    return Fit(
        law,
        Parameter(*(None if v is None else math.exp(v) for v in values[0])),  # type: ignore[arg-type]
        Parameter(*values[1]),
        Parameter(*values[2]) if len(values) > 2 else None,
        {int(k): math.exp(float(residual[n == k].mean())) - 1 for k in np.unique(n)},
        _lack_of_fit(n, residual, len(found)),
    )


def _first_guess(law: Law, n: Floats, times: Floats) -> list[float]:
    """The law is linear in T1, T1 a and T1 b: least squares of the relative misses."""
    columns = [1 / n, (n - 1) / n, n - 1][: 2 if law == "Amdahl" else 3]
    weighted = np.column_stack(columns) / times[:, None]
    one, *rest = np.linalg.lstsq(weighted, np.ones(len(n)))[0]
    if one <= 0:
        return [float(np.log(times.max())), *[0.0] * len(rest)]
    return [float(np.log(one)), *(float(value / one) for value in rest)]


def _limits(
    found: Floats, covariance: Floats, left: int
) -> list[tuple[float, float | None, float | None]]:
    if left < 1 or not np.isfinite(covariance).all():
        return [(float(value), None, None) for value in found]
    student = student_quantile(left, 0.5 + LEVEL / 2)
    half = student * np.sqrt(np.diag(covariance))
    return [(float(v), float(v - h), float(v + h)) for v, h in zip(found, half, strict=True)]


def _lack_of_fit(n: Floats, residual: Floats, parameters: int) -> float | None:
    """p-value of the misses of the means, against the spread around each mean."""
    groups = [residual[n == k] for k in np.unique(n)]
    lack, pure = len(groups) - parameters, len(n) - len(groups)
    if lack < 1 or pure < 1:
        return None
    spread = float(sum(((group - group.mean()) ** 2).sum() for group in groups)) / pure
    misses = float(sum(len(group) * group.mean() ** 2 for group in groups)) / lack
    if spread <= 0:
        return 0.0 if misses > np.finfo(float).eps else 1.0
    return f_above(lack, pure, misses / spread)
