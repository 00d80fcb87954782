# SPDX-License-Identifier: GPL-2.0-only
"""Compare the rates of rare events of two conditions that were measured in blocks.

Given the total, the events of one condition are binomial; the limits of their share are Clopper and
Pearson's (Biometrika 26, 1934), and those of the ratio of rates follow. Outliers often come in
bursts, so blocks differ more than independent events would. The counts are divided by that
dispersion, Pearson's chi squared per degree of freedom (McCullagh and Nelder, Generalized Linear
Models, 1989, section 6.2.3), which is never taken to be below 1.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from scipy.stats import beta

_CONFIDENCE: Final = 0.95


class Block(NamedTuple):
    """One measurement."""

    events: int
    trials: int


class RateRatio(NamedTuple):
    """The rate of one condition relative to another."""

    ratio: float | None
    """None: the other one had no events"""
    low: float | None
    high: float | None
    """None: there is no upper limit"""
    dispersion: float


def rate_ratio(on: Sequence[Block], off: Sequence[Block]) -> RateRatio:
    """The rate of `on` relative to `off`, with limits of 95 % confidence."""
    events = [sum(one.events for one in blocks) for blocks in (on, off)]
    trials = [sum(one.trials for one in blocks) for blocks in (on, off)]
    if not all(trials) or not any(events):
        return RateRatio(None, None, None, 1.0)
    spread = _dispersion([on, off])
    share = trials[0] / trials[1]
    some, other = events[0] / spread, events[1] / spread
    tail = (1 - _CONFIDENCE) / 2
    low = float(beta.ppf(tail, some, other + 1)) if some else 0.0
    high = float(beta.ppf(1 - tail, some + 1, other)) if other else 1.0
    return RateRatio(
        ratio=events[0] / events[1] / share if events[1] else None,
        low=low / (1 - low) / share if low < 1 else None,
        high=high / (1 - high) / share if high < 1 else None,
        dispersion=spread,
    )


def _dispersion(conditions: Sequence[Sequence[Block]]) -> float:
    chi, blocks, used = 0.0, 0, 0
    for condition in conditions:
        rate = sum(one.events for one in condition) / sum(one.trials for one in condition)
        blocks += len(condition)
        used += 1
        for one in condition:
            if expected := rate * one.trials:
                chi += (one.events - expected) ** 2 / expected
    return max(chi / (blocks - used), 1.0) if blocks > used else 1.0
