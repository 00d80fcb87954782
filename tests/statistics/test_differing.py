# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that differ from the rest are found, and those that do not are seldom accused."""

import msgspec
import numpy as np
import pytest

from rtscope.model.finding import CpuDiffers, CpusAlike, CpusUndecided
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.statistics.differing import differing, spread_of
from tests.measured import latencies, run_of, thread_of

KINDS = ["independent", "wandering", "bursts", "levels", "outliers"]


def cpus(kind: str, seed: int, factors: dict[int, float], count: int = 8) -> Run:
    """CPUs that see the same kind of latencies, some of them so many times longer."""
    rng = np.random.default_rng(seed)
    return run_of(
        *(
            thread_of((latencies(rng, kind) * factors.get(cpu, 1)).astype(np.int64), cpu)
            for cpu in range(count)
        )
    )


def found(run: Run) -> list[int | None]:
    spread = spread_of(run)
    assert spread is not None
    assert spread.tested == len(run.threads) - 1
    return [one.thread.cpu for one in spread.different]


@pytest.mark.parametrize("kind", KINDS)
def test_cpus_that_are_alike_are_seldom_called_different(kind: str) -> None:
    assert sum(bool(found(cpus(kind, seed, {}, 5))) for seed in range(10)) <= 1


@pytest.mark.parametrize("factors", [{3: 1.5}, {3: 0.6}, {0: 2.0, 7: 2.0}, {1: 3, 2: 3, 4: 0.5}])
def test_the_cpus_that_differ_are_found_and_no_others(factors: dict[int, float]) -> None:
    assert found(cpus("independent", 5, factors)) == sorted(factors)


@pytest.mark.parametrize(("ns", "expected"), [(1050, []), (1150, [2])])
def test_a_difference_below_a_tenth_is_not_called_one(ns: int, expected: list[int]) -> None:
    others = [thread_of([1000] * 20_000, cpu) for cpu in (0, 1, 3)]
    assert found(run_of(*others, thread_of([ns] * 20_000, 2))) == expected


@pytest.mark.parametrize(("count", "undecided"), [(100, [0, 2]), (20_000, [])])
def test_too_few_data_are_no_sign_that_cpus_are_alike(count: int, undecided: list[int]) -> None:
    rng = np.random.default_rng(3)
    values = (3000 * np.exp(rng.normal(0, 1, 20_000))).astype(np.int64)
    spread = spread_of(run_of(*(thread_of(values[:count], cpu) for cpu in range(3))))
    assert spread is not None
    assert (spread.different, [one.cpu for one in spread.undecided]) == ([], undecided)


@pytest.mark.parametrize("value", [0, 3000])
def test_coarse_buckets_are_no_lack_of_data(value: int) -> None:
    thread = thread_of([value] * 20_000)
    coarse = msgspec.structs.replace(thread, histogram=Histogram([value], [1000], [20_000]))
    spread = spread_of(run_of(*(msgspec.structs.replace(coarse, cpu=cpu) for cpu in range(3))))
    assert spread is not None
    assert (spread.different, spread.undecided) == ([], [])


def test_cpus_that_cannot_be_compared_are_not() -> None:
    """cyclictest's JSON without -h counts the samples and has no histogram of them."""
    assert spread_of(run_of()) is None
    assert spread_of(run_of(thread_of([1, 2, 3]))) is None
    assert spread_of(run_of(thread_of([1] * 5, 0), thread_of([9] * 5, 1))) is None
    assert spread_of(run_of(thread_of([1] * 500, None), thread_of([9] * 500, None))) is None
    known = thread_of([3000] * 20_000, 0)
    for histogram in (Histogram(), Histogram([], [], [], 20_000, 1_000_000)):
        assert spread_of(run_of(known, msgspec.structs.replace(known, histogram=histogram))) is None


def test_the_more_cpus_are_tested_the_surer_a_difference_has_to_be() -> None:
    rng = np.random.default_rng(9)
    values = (3000 * np.exp(rng.normal(0, 1, 300))).astype(np.int64)
    middle = [thread_of(values, cpu) for cpu in range(13)]
    sure_of_two, sure_of_many = (
        next(
            factor
            for factor in np.arange(1.1, 3, 0.05)
            if found(run_of(*middle[:count], thread_of((values * factor).astype(np.int64), 13)))
        )
        for count in (1, 13)
    )
    assert sure_of_two < sure_of_many


def test_cpus_that_differ_are_alike_or_are_undecided_are_findings() -> None:
    first, second = differing(cpus("independent", 7, {2: 2.0}, 4))
    assert isinstance(first, CpuDiffers)
    assert (first.cpu, first.metric, first.cpus) == (2, "p99.9", 4)
    assert first.ns > 1.5 * first.median_cpu_ns
    assert second == CpusAlike(count=2, of=3, least=0.1)
    many, few = [*range(900, 1100)] * 20, [*range(500, 1500, 20)]
    assert differing(run_of(*(thread_of(ns, cpu) for cpu, ns in enumerate([many, many, few])))) == [
        CpusUndecided(cpus=[2], median_cpu=0, least=0.1, severity="undecided"),
        CpusAlike(count=1, of=2, least=0.1),
    ]
