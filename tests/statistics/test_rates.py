# SPDX-License-Identifier: GPL-2.0-only
"""Rates of rare events are compared with limits that contain the true ratio."""

import math

import numpy as np
import pytest

from rtscope.statistics.rates import Block, rate_ratio

TRIALS = 10_000


def test_a_ratio_and_its_limits_of_independent_events() -> None:
    found = rate_ratio([Block(10, TRIALS)] * 4, [Block(50, TRIALS)] * 4)
    assert found.ratio == pytest.approx(0.2)
    assert found.dispersion == 1
    assert found.low == pytest.approx(0.136, abs=0.01)  # of the exact binomial
    assert found.high == pytest.approx(0.287, abs=0.01)


@pytest.mark.parametrize(
    ("on", "off", "expected"),
    [
        ([Block(0, 100)], [Block(0, 100)], (None, None, None)),
        ([], [Block(5, 100)], (None, None, None)),
        ([Block(0, 100)], [Block(30, 100)], (0.0, 0.0, 0.13)),
        ([Block(30, 100)], [Block(0, 100)], (None, 7.7, None)),
    ],
)
def test_conditions_without_events(
    on: list[Block], off: list[Block], expected: tuple[float | None, ...]
) -> None:
    found = rate_ratio(on or [Block(0, 0)], off)
    for value, wanted in zip(found[:3], expected, strict=True):
        assert value == (wanted if wanted is None else pytest.approx(wanted, abs=0.1))


@pytest.mark.parametrize("burst", [1, 8])
def test_the_limits_contain_the_true_ratio_also_where_events_come_in_bursts(burst: int) -> None:
    rng = np.random.default_rng(15)
    inside = 0
    for _ in range(300):
        counts = [burst * rng.poisson(mean / burst, 10) for mean in (20, 40)]
        on, off = ([Block(int(one), TRIALS) for one in some] for some in counts)
        found = rate_ratio(on, off)
        high = math.inf if found.high is None else found.high
        inside += found.low is not None and found.low <= 0.5 <= high
    assert inside >= 0.92 * 300
