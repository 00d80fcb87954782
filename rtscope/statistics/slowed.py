# SPDX-License-Identifier: GPL-2.0-only
"""Which of all the slowdowns that a run looked for are there.

A slowdown is measured repeat after repeat, in turn with all others of the run, and each repeat is
how many times as long the same work took beside something as without it. Of n repeats with a median
of the limit k or more are above it with the probability P(Bin(n, 1/2) >= k), whatever their
distribution (the sign test: Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section
3.4). These p-values are corrected for all that the run looked for (Holm), so that it names one that
is not there in 5 of 100 runs at most; and in the same way those that it calls absent.

A median says nothing of what comes and goes. A slowdown changes where repeats that are clearly slow
and repeats that are not are both several, few are between, and clearly slow ones are more than
clearly fast ones: of those a disturbance from outside makes as many, and that is tested as above.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeVar

import msgspec

from rtscope.model.finding import TooFewRepeats
from rtscope.statistics.confidence import LEVEL, holm
from rtscope.statistics.distributions import incomplete_beta

SHARED: Final = 1.1
"""a tenth slower"""
CLEARLY: Final = 1.2
"""beyond the limit"""
SEVERAL: Final = 0.15
"""of the repeats, and two of them"""

Key = TypeVar("Key", bound=Hashable)


class Slowed(Enum):
    """The conclusion about one slowdown from its repeats."""

    YES = "yes"
    NO = "no"
    CHANGING = "changing"
    UNKNOWN = "unknown"
    """its median is too near to the limit for so many repeats"""


def repeats_needed(slowdowns: int) -> int:
    """The smallest number that can show one slowdown of so many, if all are on one side."""
    return math.ceil(math.log2(max(slowdowns, 1) / (1 - LEVEL)))


def too_few(slowdowns: Collection[Sequence[float]]) -> TooFewRepeats | None:
    """A finding where the repeats decide none of the slowdowns."""
    known = min((len(repeats) for repeats in slowdowns), default=0)
    needed = repeats_needed(len(slowdowns))
    if known >= needed:
        return None
    return TooFewRepeats(
        comparisons=len(slowdowns), repeats=known, needed=needed, severity="undecided"
    )


def slowed(
    repeats: Mapping[Key, Sequence[float]], limits: Mapping[Key, float]
) -> dict[Key, Slowed]:
    """What is to be said of each; `limits` are those above which each is one."""
    counts = {key: _Counts.of(repeats[key], limits[key]) for key in repeats}
    is_so = holm([_sign_test(one.above, one.below) for one in counts.values()])
    is_not = holm([_sign_test(one.below, one.above) for one in counts.values()])
    not_by_chance = holm([_sign_test(one.slow, one.fast) for one in counts.values()])
    return {
        key: Slowed.CHANGING
        if one.comes_and_goes and not_by_chance[place] <= 1 - LEVEL
        else Slowed.YES
        if is_so[place] <= 1 - LEVEL
        else Slowed.NO
        if is_not[place] <= 1 - LEVEL and one.slow < one.fast + one.several
        else Slowed.UNKNOWN
        for place, (key, one) in enumerate(counts.items())
    }


class _Counts(msgspec.Struct, frozen=True):
    """How many repeats are on which side."""

    above: int
    below: int
    slow: int
    """clearly"""
    fast: int
    """as clearly on the other side of one"""

    @classmethod
    def of(cls, repeats: Sequence[float], limit: float) -> "_Counts":
        above = sum(one > limit for one in repeats)
        return cls(
            above,
            len(repeats) - above,
            sum(one > CLEARLY * limit for one in repeats),
            sum(one * CLEARLY * limit < 1 for one in repeats),
        )

    @property
    def several(self) -> int:
        return max(2, math.ceil(SEVERAL * (self.above + self.below)))

    @property
    def comes_and_goes(self) -> bool:
        return min(self.slow, self.below) >= max(self.several, self.above - self.slow + 1)


def spread(repeats: Sequence[float]) -> tuple[float, float]:
    """Between which four of five repeats are; all of a few."""
    ordered = sorted(repeats)
    outside = len(ordered) // 10
    return ordered[outside], ordered[-1 - outside]


def _sign_test(one: int, other: int) -> float:
    """P(Bin(one + other, 1/2) >= one)."""
    return incomplete_beta(one, other + 1, 0.5) if one else 1.0
