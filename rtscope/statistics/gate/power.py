# SPDX-License-Identifier: GPL-2.0-only
"""How many runs a gate needs: the power of Student's t test, whose need the permutation test shares
where runs differ about normally."""

import math
from typing import Final

from rtscope.statistics.distributions import detectable, student_quantile

ERROR: Final = 0.01
"""error probability of each verdict"""
POWER: Final = 0.9
"""probability with which a change is found"""
MOST_RUNS: Final = 10_000


def distance(tests: int, runs_a_side: int) -> float:
    """Standard errors between a margin and a difference that is found with POWER among `tests`."""
    freedom = 2 * runs_a_side - 2
    return detectable(freedom, student_quantile(freedom, 1 - ERROR / tests), POWER)


def smallest_difference(spread: float, tests: int, runs_a_side: int) -> float:
    """The smallest difference found, in logarithms; `spread` is the runs' standard deviation."""
    return spread * math.sqrt(2 / runs_a_side) * distance(tests, runs_a_side)


def runs_needed(difference: float, spread: float, tests: int) -> int | None:
    """Runs a side that find a difference so far from the margin; None for more than MOST_RUNS."""
    if difference <= 0:
        return None
    needed = 2
    while smallest_difference(spread, tests, needed) > difference:
        needed += max(1, needed // 20)
        if needed > MOST_RUNS:
            return None
    return needed
