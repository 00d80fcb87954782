# SPDX-License-Identifier: GPL-2.0-only
"""A limit that is judged all the time is rarely proven wrongly, and is proven in good time."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from rtscope.statistics.sequential import Decision, decide, decide_rate, samples_needed

Judge = Callable[[int, int, float], Decision]
RUNS = 1000
SAMPLES = 20_000


def outcomes(
    true_rate: float, rate: float, runs: int = RUNS, judge: Judge = decide
) -> dict[Decision, int]:
    """How runs end that are judged after every 50 samples."""
    judge = cache(judge)  # few of a million judgements differ
    rng = np.random.default_rng(7)
    found: dict[Decision, int] = {"proven": 0, "hopeless": 0, "open": 0}
    for _ in range(runs):
        over = np.cumsum(rng.random(SAMPLES) < true_rate)
        judged = (judge(int(over[at - 1]), at, rate) for at in range(50, SAMPLES, 50))
        found[next((one for one in judged if one != "open"), "open")] += 1
    return found


@pytest.mark.parametrize(("rate", "judge"), [(0.01, decide), (0.001, decide), (0.001, decide_rate)])
def test_a_limit_at_its_boundary_is_decided_wrongly_in_at_most_5_percent(
    rate: float, judge: Judge
) -> None:
    found = outcomes(rate, rate, judge=judge)
    assert found["proven"] + found["hopeless"] <= 0.05 * RUNS


def test_a_limit_is_proven_or_hopeless_when_its_rate_is_clearly_off() -> None:
    assert outcomes(0.004, 0.01, 100)["proven"] == 100
    assert outcomes(0.02, 0.01, 100)["hopeless"] == 100


@pytest.mark.parametrize(
    ("over", "count", "expected"),
    [(0, 999, "open"), (0, 1000, "proven"), (9, 9, "open"), (10, 10, "hopeless")],
)
def test_ten_samples_have_to_count(over: int, count: int, expected: Decision) -> None:
    assert decide(over, count, 0.01) == expected


def test_the_samples_that_are_still_needed_prove_the_limit() -> None:
    assert samples_needed(0, 100, 0.01, decide) == pytest.approx(1000, rel=0.01)
    needed = samples_needed(5, 1000, 0.01, decide)
    assert needed is not None
    assert needed > 1000
    assert decide(round(needed / 200), needed, 0.01) == "proven"
    assert decide(round(0.98 * needed / 200), round(0.98 * needed), 0.01) == "open"
    assert samples_needed(10, 1000, 0.01, decide) is None


def test_a_rate_without_any_sample_beyond_is_proven_after_four_times_its_inverse() -> None:
    assert samples_needed(0, 100, 1e-6, decide_rate) == pytest.approx(4.1e6, rel=0.01)
