# SPDX-License-Identifier: GPL-2.0-only
"""How many runs a gate needs: the power of Student's t test with one run a side less.

Where runs differ about normally the permutation test nearly has the power of the t test. It has up
to two percent less, because it counts divisions, of which a random sample is drawn: one run more
makes up for that.
"""

import math
from typing import Final

from rtscope.statistics.distributions import detectable, student_quantile

ERROR: Final = 0.01
"""error probability of each verdict"""
POWER: Final = 0.9
"""probability with which a change is found"""
MOST_RUNS: Final = 10_000
_RESERVE: Final = 1
"""runs a side more than the t test needs"""
_FEWEST: Final = 2 + _RESERVE


def distance(tests: int, runs_a_side: int) -> float:
    """Standard errors between a margin and a difference that is found with POWER among `tests`."""
    freedom = 2 * runs_a_side - 2
    return detectable(freedom, student_quantile(freedom, 1 - ERROR / tests), POWER)


def smallest_difference(spread: float, tests: int, runs_a_side: int) -> float:
    """The smallest difference found, in logarithms; `spread` is the runs' standard deviation."""
    counted = runs_a_side - _RESERVE
    return spread * math.sqrt(2 / counted) * distance(tests, counted)


def runs_needed(difference: float, spread: float, tests: int) -> int | None:
    """Runs a side that find a difference so far from the margin; None for more than MOST_RUNS."""
    if difference <= 0:
        return None
    needed = _FEWEST
    while smallest_difference(spread, tests, needed) > difference:
        needed += max(1, needed // 20)
        if needed > MOST_RUNS:
            return None
    return needed
