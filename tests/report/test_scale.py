# SPDX-License-Identifier: GPL-2.0-only
"""Axes have round, labelled ticks over wide and narrow ranges, and place values exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.report.page.scale import Scale, linear, logarithmic, percentile_ticks, ticks


def values(scale: Scale) -> list[float]:
    return [tick.at for tick in ticks(scale)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (3, 8, [3, 4, 5, 6, 7, 8]),
        (3.1, 3.6, [3.1, 3.2, 3.3, 3.4, 3.5, 3.6]),
        (2, 60, [2, 5, 10, 20, 50]),
        (0.8, 900, [1, 2, 5, 10, 20, 50, 100, 200, 500]),
        (1, 1e8, [10**power for power in range(9)]),
        (1e-3, 1e13, [10.0**power for power in range(-2, 14, 2)]),
    ],
)
def test_a_logarithmic_axis_has_several_round_ticks(
    low: float, high: float, expected: list[float]
) -> None:
    assert values(Scale(low, high, log=True)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (3, 8, [3, 4, 5, 6, 7, 8]),
        (11, 1900, [30, 100, 300, 1000]),
        (7, 3.8e6, [100, 10_000, 1_000_000]),
    ],
)
def test_the_few_ticks_of_a_small_chart_spread_over_its_axis(
    low: float, high: float, expected: list[float]
) -> None:
    found = [tick.at for tick in ticks(Scale(low, high, log=True), 5)]
    assert found == pytest.approx(expected)


@given(st.floats(1e-3, 1e12), st.floats(1.0, 1e9))
def test_every_axis_has_at_least_three_ticks_and_few_on_a_narrow_page(
    low: float, ratio: float
) -> None:
    for scale in (logarithmic(low, low * ratio), linear(low * ratio), Scale(low * ratio, 0)):
        found = ticks(scale)
        assert 3 <= len(found) <= 11
        assert 2 <= sum(not tick.fine for tick in found) <= 6
        assert len({tick.text for tick in found}) == len(found)
        share = scale.share([tick.at for tick in found])
        assert ((share > -1e-6) & (share < 1 + 1e-6)).all()


def test_values_lie_on_their_scale() -> None:
    assert Scale(1, 100, log=True).share([1, 10, 100]).tolist() == pytest.approx([0, 0.5, 1])
    assert Scale(1, 100, log=True).share([0])[0] < 0
    assert Scale(4, 0).share([4, 1]).tolist() == [0, 0.75]
    assert linear(5e-324) == linear(0), "too short to be divided"


def test_percentiles_have_a_tick_for_each_nine() -> None:
    found = percentile_ticks(Scale(1, 2e4, log=True))
    assert {tick.text: tick.at for tick in found} == {
        "0 %": 1, "50 %": 2, "90 %": 10, "99 %": 100, "99.9 %": 1000, "99.99 %": 10_000,
    }  # fmt: skip
