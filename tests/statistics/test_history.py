# SPDX-License-Identifier: GPL-2.0-only
"""A metric over many runs: a change for good is found where it is, and a spike is none."""

import msgspec
import numpy as np
import pytest
import ruptures  # type: ignore[import-untyped]

from rtscope.model.errors import RtscopeError
from rtscope.statistics.history import (
    LEAST_PART,
    LEAST_RUNS,
    changes,
    optimal_partition,
    percent_of,
    series_of,
)
from tests.statistics.test_gate import one_run

RNG = np.random.default_rng


def values(*parts: tuple[int, float], seed: int = 0) -> list[float]:
    """Parts of so many runs around so many us, which differ by 10 %."""
    random = RNG(seed)
    return [
        float(us * factor)
        for number, us in parts
        for factor in np.exp(random.normal(0, 0.1, number))
    ]


def test_a_step_is_found_at_its_run_with_its_size() -> None:
    for seed in range(20):
        found = changes(values((30, 20), (20, 26), seed=seed))
        assert len(found) == 1
        assert abs(found[0][0] - 30) <= 4


def test_two_steps_are_two_changes() -> None:
    found = changes(values((20, 20), (20, 30), (20, 20)))
    assert [abs(place - wanted) <= 2 for (place, _), wanted in zip(found, (20, 40), strict=True)]


@pytest.mark.parametrize("seed", range(10))
def test_the_partition_is_that_of_the_package_ruptures(seed: int) -> None:
    random = RNG(seed)
    parts = [(int(random.integers(5, 40)), float(random.integers(18, 23))) for _ in range(5)]
    series = np.round(values(*parts, seed=seed), 1)  # some values are equal
    search = ruptures.Pelt(model="rank", min_size=LEAST_PART, jump=1).fit(series.reshape(-1, 1))
    found = [optimal_partition(series, penalty) for penalty in (1.0, 5.0, 20.0)]
    assert found == [search.predict(pen=penalty)[:-1] for penalty in (1.0, 5.0, 20.0)]
    assert found[0]


def test_a_spike_of_three_runs_is_no_change() -> None:
    series = values((40, 20))
    series[20:23] = [2000.0, 900.0, 5000.0]
    assert changes(series) == []


def test_a_series_without_a_change_rarely_has_one() -> None:
    assert sum(bool(changes(values((40, 20), seed=seed))) for seed in range(300)) <= 15


@pytest.mark.parametrize(("number", "too_few"), [(LEAST_RUNS - 1, True), (LEAST_RUNS, False)])
def test_too_few_runs_are_said_to_be(number: int, too_few: bool) -> None:
    runs = [
        (one_run(5, 30 + 40 * (at > 6), at, created=f"2026-11-{at + 1:02}"), "a")
        for at in range(number)
    ]
    (series,) = series_of(runs, ["p99"])
    (metric,) = series.metrics

    assert (metric.too_few, len(metric.changes)) == (too_few, 0 if too_few else 1)
    if metric.changes:
        (change,) = metric.changes
        assert (change.before, change.after) == (runs[6][0].id, runs[7][0].id)
        assert (change.from_ns, change.to_ns) == (30_000, 70_000)
        assert change.ratio == pytest.approx(7 / 3)
        assert change.runs_since == number - 7


def test_runs_that_measured_something_else_are_another_series() -> None:
    run = one_run(5, 30, 1)
    others = [
        (run, "other"),
        (msgspec.structs.replace(run, load="mixed"), "a"),
        (msgspec.structs.replace(run, probe="signal"), "a"),
    ]
    told = series_of([(run, "a"), (one_run(5, 31, 2), "a"), *others], ["max"])

    assert [len(series.runs) for series in told] == [2, 1, 1, 1]
    assert told[0].metrics[0].values_ns == [30_000, 31_000]


@pytest.mark.parametrize("name", ["p100", "p", "99", "p99.9.responses", "missed"])
def test_another_metric_is_refused(name: str) -> None:
    with pytest.raises(RtscopeError, match="mean, max or a percentile"):
        percent_of(name)
