# SPDX-License-Identifier: GPL-2.0-only
"""A slowdown is found where it is, and one that changes as such, whatever else disturbs."""

import numpy as np
import pytest

from rtscope.model.finding import TooFewRepeats
from rtscope.statistics.slowed import SHARED, Slowed, repeats_needed, slowed, too_few


def of_one(repeats: list[float], comparisons: int = 7) -> Slowed:
    """The result for these repeats among others that show nothing."""
    others = {str(n): [1.0, 1.02] * (len(repeats) // 2) for n in range(comparisons - 1)}
    series = others | {"it": repeats}
    return slowed(series, dict.fromkeys(series, SHARED))["it"]


def test_the_fewest_repeats_are_those_of_the_sign_test() -> None:
    """2^-n for each of so many, together 5 %."""
    assert [repeats_needed(count) for count in (1, 7, 30, 196)] == [5, 8, 10, 12]
    few = TooFewRepeats(comparisons=7, repeats=1, needed=8, severity="undecided")
    assert too_few([[1.0]] * 7) == few
    assert too_few([[1.0] * 8] * 7) is None
    assert too_few([[1.0] * 8] * 6 + [[]])


@pytest.mark.parametrize(
    ("repeats", "result"),
    [
        ([1.9] * 8, Slowed.YES),
        ([1.0] * 8, Slowed.NO),
        ([1.9] * 7, Slowed.UNKNOWN),
        ([1.3] * 16 + [0.5, 9.0, 0.9], Slowed.YES),
        ([1.02] * 16 + [0.5, 9.0, 30.0], Slowed.NO),
        ([2.0] * 8 + [1.0] * 11, Slowed.CHANGING),
        ([1.0] * 4 + [2.0] * 15, Slowed.CHANGING),
        ([1.0] * 15 + [2.0] * 4, Slowed.UNKNOWN),
        ([0.4, 2.5] * 5 + [1.0] * 9, Slowed.NO),
    ],
)
def test_repeats_decide_despite_a_few_stalls(repeats: list[float], result: Slowed) -> None:
    assert of_one(repeats) is result


def test_a_slowdown_that_only_varies_does_not_change() -> None:
    rng = np.random.default_rng(4)
    varying = [of_one(list(rng.normal(1.35, 0.15, 19))) for _ in range(50)]
    assert Slowed.CHANGING not in varying
    assert varying.count(Slowed.YES) > 30
