# SPDX-License-Identifier: GPL-2.0-only
"""Bounds hold what they promise, and are refused where their model does not hold."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtscope.model.run import Exceedances
from rtscope.statistics.tail import checks, pareto
from rtscope.statistics.tail.bounds import ERROR, LEAST_CLUSTERS, PERIODS_S, thread_tail
from rtscope.statistics.tail.pareto import Pareto
from tests.statistics.tail.synthetic import KNOWN, Known, reached_ns, run_with, tail_with

SEEDS = 8
HOLD = [known for known in KNOWN if not known.refused]
CLEAR = [known for known in KNOWN if known.refused and "6 times" not in known.name]


@pytest.mark.parametrize("known", HOLD, ids=lambda known: known.name)
def test_a_level_that_the_tail_reaches_is_within_its_limits(known: Known) -> None:
    told = [tail_with(known, seed) for seed in range(SEEDS)]
    bounded = [one.fitted for one in told if one.fitted]

    assert len(bounded) >= SEEDS - 2
    for period, seconds in PERIODS_S.items():
        truth = reached_ns(known, seconds)
        levels = [level for one in bounded for level in one.levels if level.period == period]
        within = [
            level.low_ns <= truth and (level.high_ns is None or truth <= level.high_ns)
            for level in levels
        ]
        assert len(levels) == len(bounded)
        assert sum(within) >= len(bounded) - 2
        by_blocks = [
            level
            for one in bounded
            if one.by_blocks
            for level in one.by_blocks.levels
            if level.period == period
        ]
        assert len(by_blocks) >= len(bounded) - 2, "a high threshold leaves too few clusters"
        above = sum(one.low_ns > truth for one in by_blocks)
        below = sum(one.high_ns is not None and one.high_ns < truth for one in by_blocks)
        assert above + below <= 2
    assert sum(not one.by_blocks.agrees for one in bounded if one.by_blocks) <= 1
    if known.shape == -0.4:
        ends = [one.end_ns for one in bounded if one.end_ns is not None]
        assert len(ends) == len(bounded)
        assert all(end > one.levels[-1].ns for end, one in zip(ends, bounded, strict=True))
    if known.shape == 0.3:
        assert not any(one.end_ns for one in bounded)


@pytest.mark.parametrize("known", CLEAR, ids=lambda known: known.name)
def test_a_tail_of_another_kind_is_refused_by_the_test_that_is_for_it(known: Known) -> None:
    expected = {
        "1 % of the tail at 20 to 22 scales": "one-distribution",
        "1 % of the tail anywhere up to 100 scales": "one-distribution",
        "the size doubles during the run": "drift-in-size",
        "the number doubles during the run": "drift-in-number",
    }[known.name]
    told = [tail_with(known, seed) for seed in range(SEEDS)]

    assert not any(one.fitted for one in told)
    assert sum(one.tests[-1].assumption == expected for one in told) >= SEEDS - 2


def test_a_tail_that_ends_abruptly_is_not_taken_for_an_exponential_one() -> None:
    for seed in range(20):
        excesses = np.random.default_rng(seed).random(200) * 120_000
        assert pareto.fit(excesses).shape < -0.7


def test_a_few_samples_of_another_kind_are_no_heavy_tail() -> None:
    """As in the lab with an injected delay each 501 ms: docs/explanation/tail.md."""
    assert checks.heaviness(Pareto(1.42, 100.0, 0.0, 203)) < ERROR
    assert checks.heaviness(Pareto(0.6, 100.0, 0.0, 203)) > ERROR


def test_clusters_are_counted_once() -> None:
    (known,) = [known for known in HOLD if known.alters]
    told = tail_with(known, 1)

    assert told.fitted is not None
    assert told.fitted.extremal_index == pytest.approx(1 / 3, rel=0.1)
    assert told.fitted.clusters == pytest.approx(told.kept / 3, rel=0.1)


def test_a_run_without_what_a_bound_needs_says_what_it_lacks() -> None:
    run = run_with(HOLD[0], 1)
    (thread,) = run.threads
    kept = thread.exceedances
    assert kept is not None
    few = msgspec.structs.replace(kept, time_ns=kept.time_ns[:99], latency_ns=kept.latency_ns[:99])
    lacking = {
        "recorded": None,
        "complete": msgspec.structs.replace(kept, dropped=7),
        "enough": few,
    }

    for assumption, exceedances in lacking.items():
        changed = msgspec.structs.replace(thread, exceedances=exceedances)
        told = thread_tail(run, changed)
        assert told.fitted is None
        assert (told.tests[-1].assumption, told.tests[-1].passed) == (assumption, False)
    assert told.tests[-1].has in range(50, 100)
    assert told.tests[-1].needs == LEAST_CLUSTERS


def test_samples_that_are_all_the_same_have_no_tail() -> None:
    run = run_with(HOLD[0], 1)
    (thread,) = run.threads
    assert thread.exceedances is not None
    number = len(thread.exceedances.time_ns)
    same = msgspec.structs.replace(thread.exceedances, latency_ns=[30_000] * number)
    told = thread_tail(run, msgspec.structs.replace(thread, exceedances=same))

    assert (told.tests[-1].assumption, told.fitted) == ("enough", None)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 7, 1000, 20_000]), st.floats(0.05, 3.0))
def test_whatever_was_measured_has_bounds_or_a_reason(seed: int, clock: int, power: float) -> None:
    random = np.random.default_rng(seed)
    number = int(random.integers(0, 3000))
    gaps = np.ceil(random.pareto(power, number)).clip(1, 1e6)
    latencies = (random.pareto(power, number) * 1e4 + 1).clip(1, 1e15) // clock * clock + clock
    run = run_with(HOLD[0], 1)
    (thread,) = run.threads
    kept = Exceedances(
        0, (np.cumsum(gaps) * 1e7).astype(int).tolist(), latencies.astype(int).tolist()
    )
    told = thread_tail(run, msgspec.structs.replace(thread, exceedances=kept))

    assert (told.fitted is None) == (not told.tests[-1].passed)
