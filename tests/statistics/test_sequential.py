# SPDX-License-Identifier: GPL-2.0-only
"""A limit that is looked at all the time is rarely proven wrongly, and is proven in good time."""

import numpy as np
import pytest

from rtscope.statistics.sequential import Decision, decide, samples_needed

RUNS = 1000
SAMPLES = 20_000


def outcomes(true_rate: float, percent: float, runs: int = RUNS) -> dict[Decision, int]:
    """How runs end that are looked at after every 50 samples."""
    rng = np.random.default_rng(7)
    found: dict[Decision, int] = {"proven": 0, "hopeless": 0, "open": 0}
    for _ in range(runs):
        over = np.cumsum(rng.random(SAMPLES) < true_rate)
        looks = (decide(int(over[at - 1]), at, percent) for at in range(50, SAMPLES, 50))
        found[next((one for one in looks if one != "open"), "open")] += 1
    return found


@pytest.mark.parametrize("percent", [99.0, 99.9])
def test_a_limit_at_its_boundary_is_decided_wrongly_in_at_most_5_percent(percent: float) -> None:
    found = outcomes(1 - percent / 100, percent)
    assert found["proven"] + found["hopeless"] <= 0.05 * RUNS


def test_a_limit_is_proven_or_hopeless_when_its_rate_is_clearly_off() -> None:
    assert outcomes(0.004, 99, 100)["proven"] == 100
    assert outcomes(0.02, 99, 100)["hopeless"] == 100


@pytest.mark.parametrize(
    ("over", "count", "expected"),
    [(0, 999, "open"), (0, 1000, "proven"), (9, 9, "open"), (10, 10, "hopeless")],
)
def test_ten_samples_have_to_count(over: int, count: int, expected: Decision) -> None:
    assert decide(over, count, 99) == expected


def test_the_samples_that_are_still_needed_prove_the_limit() -> None:
    assert samples_needed(0, 100, 99) == pytest.approx(1000, rel=0.01)
    needed = samples_needed(5, 1000, 99)
    assert needed is not None
    assert needed > 1000
    assert decide(round(needed / 200), needed, 99) == "proven"
    assert decide(round(0.98 * needed / 200), round(0.98 * needed), 99) == "open"
    assert samples_needed(10, 1000, 99) is None
