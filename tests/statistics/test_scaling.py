# SPDX-License-Identifier: GPL-2.0-only
"""The laws of scaling give back what made the times, within the limits that they state."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.statistics.scaling import Fit, Law, Parameter, fit

THREADS = [n for n in range(1, 9) for _ in range(5)]
TRIALS = 200


def times_of(threads: list[int], one_ns: float, contention: float, coherency: float) -> list[float]:
    return [one_ns * (1 + contention * (n - 1) + coherency * n * (n - 1)) / n for n in threads]


def fitted(law: Law, threads: list[int], times: list[float]) -> Fit:
    found = fit(law, threads, times)
    assert found is not None
    return found


def holds(parameter: Parameter | None, truth: float) -> bool:
    assert parameter is not None
    assert parameter.low is not None
    assert parameter.high is not None
    assert parameter.low <= parameter.value <= parameter.high
    return parameter.low <= truth <= parameter.high


@given(
    one_ns=st.floats(1e3, 1e10),
    contention=st.floats(-0.01, 0.9),
    coherency=st.floats(0, 0.05),
    most=st.integers(4, 64),
)
def test_times_without_noise(one_ns: float, contention: float, coherency: float, most: int) -> None:
    threads = list(range(1, most + 1))
    found = fitted("USL", threads, times_of(threads, one_ns, contention, coherency))
    assert found.one_thread_ns.value == pytest.approx(one_ns, rel=1e-5)
    assert found.contention.value == pytest.approx(contention, abs=1e-5)
    assert found.coherency is not None
    assert found.coherency.value == pytest.approx(coherency, abs=1e-5)
    assert found.holds
    serial = max(contention, 0)
    found = fitted("Amdahl", threads, times_of(threads, one_ns, serial, 0))
    assert found.contention.value == pytest.approx(serial, abs=1e-5)
    assert max(map(abs, found.residuals.values())) < 1e-4


@pytest.mark.parametrize(
    ("contention", "coherency"), [(0.05, 0.0), (0.05, 0.001), (0.3, 0.02), (-0.02, 0.0)]
)
def test_limits_hold_the_truth_as_often_as_they_say(contention: float, coherency: float) -> None:
    rng = np.random.default_rng(8)
    truth = np.array(times_of(THREADS, 1e6, contention, coherency))
    inside = {"one": 0, "a": 0, "b": 0, "law": 0}
    for _ in range(TRIALS):
        found = fitted("USL", THREADS, list(truth * np.exp(rng.normal(0, 0.01, len(truth)))))
        inside["one"] += holds(found.one_thread_ns, 1e6)
        inside["a"] += holds(found.contention, contention)
        inside["b"] += holds(found.coherency, coherency)
        inside["law"] += found.misfit_p is not None and found.misfit_p > 0.05
    assert all(0.91 <= count / TRIALS <= 0.99 for count in inside.values()), inside


@given(serial=st.floats(0.005, 0.6), seed=st.integers(0, 2**32 - 1))
def test_a_serial_fraction_under_noise_is_near_what_was_made(serial: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.array(times_of(THREADS, 1e6, serial, 0))
    found = fitted("Amdahl", THREADS, list(times * np.exp(rng.normal(0, 0.01, len(times)))))
    assert found.contention.low is not None
    half = found.contention.value - found.contention.low
    assert abs(found.contention.value - serial) < 3 * half


def test_a_misfit_is_held_against_a_law_unless_it_is_tiny() -> None:
    rng = np.random.default_rng(9)
    shared_unit = np.array([1e6 * (0.05 + 0.95 / min(n, 4)) for n in THREADS])
    found = fitted("Amdahl", THREADS, list(shared_unit * np.exp(rng.normal(0, 0.005, 40))))
    assert not found.holds
    assert found.residuals[8] > 0.05
    tiny = np.array([1e6 * (0.05 + 0.95 / n) * (1.01 if n == 5 else 1.0) for n in THREADS])
    found = fitted("Amdahl", THREADS, list(tiny * np.exp(rng.normal(0, 1e-4, 40))))
    assert 0 < (found.misfit_p or 0) < 0.01
    assert found.holds


def test_the_fastest_number_of_threads_is_where_the_curve_turns() -> None:
    found = fitted("USL", THREADS, times_of(THREADS, 1e6, 0.05, 0.02))
    assert found.fastest == pytest.approx(math.sqrt(0.95 / 0.02), rel=1e-4)
    assert found.time_ns(6) < found.time_ns(8)
    assert fitted("Amdahl", THREADS, times_of(THREADS, 1e6, 0.05, 0)).fastest is None


def test_too_few_numbers_of_threads_are_not_fitted() -> None:
    assert fit("Amdahl", [1, 1, 1], [1.0, 1.1, 0.9]) is None
    assert fit("USL", [1, 2, 1, 2], [2.0, 1.0, 2.1, 1.1]) is None
    two = fitted("Amdahl", [1, 2], [2.0, 1.1])
    assert two.contention.value == pytest.approx(0.1, abs=1e-6)
    assert (two.contention.low, two.misfit_p) == (None, None)
    with pytest.raises(ValueError, match="positive"):
        fit("Amdahl", [1, 2], [1.0, 0.0])
