# SPDX-License-Identifier: GPL-2.0-only
"""A permutation test of the difference of two sides' means, and its confidence limits.

Of all ways to divide the runs between the sides, the share whose difference is as large is the
error probability. It is exact, whatever the distribution of the runs, where runs of equal sides are
exchangeable (Good, Permutation, Parametric, and Bootstrap Tests of Hypotheses, 3rd ed. 2005,
section 3.2). Up to 20,000 divisions are all tried, of more a fixed random sample that includes the
observed one (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 9(1),
2010). A mean sees that a third of the runs got slow, which a test of ranks hardly does. Moving the
candidate by an assumed difference inverts the test into confidence limits: with x the share of the
candidate's runs that stay on its side, a division exceeds d from an assumed difference
(d - d_s) / (1 - x) on.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_DIVISIONS: Final = 20_000
_AT_ONCE: Final = 2000
_SAME: Final = 1e-9
"""a difference of logarithms that is due to rounding: runs may be equal, as the clock has steps"""


class Tested(msgspec.Struct, frozen=True):
    """The test of one difference, candidate less baseline."""

    difference: float
    low: float
    """limits of the difference, each with the error probability that was asked for; may be
    infinite"""
    high: float
    p_above: float
    """error probability of saying that the difference is above the assumed one"""
    p_below: float


def tested(baseline: Floats, candidate: Floats, assumed: float, error: float) -> Tested:
    """Test the difference of the means against an assumed one."""
    observed, thresholds, always = _thresholds(baseline, candidate)
    number = len(thresholds) + always
    cut = math.floor(error * number) - always
    low, high = -math.inf, math.inf
    if cut >= 0:
        low, high = float(thresholds[cut]), float(thresholds[-1 - cut])
    return Tested(
        observed,
        low,
        high,
        (always + int((thresholds <= assumed + _SAME).sum())) / number,
        (always + int((thresholds >= assumed - _SAME).sum())) / number,
    )


def fewest_runs(error: float) -> int:
    """The fewest runs a side whose test can reach this error probability."""
    runs = 2
    while math.comb(2 * runs, runs) < 1 / error:
        runs += 1
    return runs


@lru_cache(maxsize=8)
def _divisions(baseline: int, candidate: int) -> NDArray[np.bool_]:
    """Divisions of the runs, of shape (divisions, runs): true for the candidate's side, the
    observed division first."""
    total = baseline + candidate
    observed = np.arange(total) >= baseline
    if math.comb(total, candidate) <= _MOST_DIVISIONS:
        chosen = np.zeros((math.comb(total, candidate), total), dtype=bool)
        for row, members in zip(chosen, combinations(range(total), candidate), strict=True):
            row[list(members)] = True
        same = (chosen == observed).all(axis=1)
        return np.vstack([chosen[same], chosen[~same]])
    random = np.random.default_rng(1)
    drawn = random.permuted(np.tile(observed, (_MOST_DIVISIONS - 1, 1)), axis=1)
    return np.vstack([observed, drawn])


def _thresholds(baseline: Floats, candidate: Floats) -> tuple[float, Floats, int]:
    """The observed difference; for each division the assumed difference from which it is as large
    as the observed one; and how many divisions are so whatever is assumed."""
    divisions = _divisions(len(baseline), len(candidate))
    values = np.r_[baseline, candidate]
    sums = np.concatenate([part @ values for part in _parts(divisions)])
    weight = 1 / len(candidate) + 1 / len(baseline)
    found = weight * sums - values.sum() / len(baseline)
    stayed = divisions[:, len(baseline) :].sum(axis=1)
    same = stayed == len(candidate)
    moved = weight * stayed - len(candidate) / len(baseline)
    thresholds = (found[0] - found[~same]) / (1 - moved[~same])
    return float(found[0]), np.sort(thresholds), int(same.sum())


def _parts(divisions: NDArray[np.bool_]) -> Iterator[Floats]:
    """The divisions as numbers, a part at a time: many runs would take gigabytes."""
    for first in range(0, len(divisions), _AT_ONCE):
        yield divisions[first : first + _AT_ONCE].astype(np.float64)
