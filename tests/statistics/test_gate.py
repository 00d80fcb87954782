# SPDX-License-Identifier: GPL-2.0-only
"""The gate decides by runs, is rarely wrong, and finds what it says that it finds."""

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Asked, Lab, Member, Run, Status
from rtscope.statistics.gate import permutation
from rtscope.statistics.gate.calibration import calibrated
from rtscope.statistics.gate.gate import gate
from rtscope.statistics.gate.verdict import Gate
from tests.measured import run_of, thread_of

SAMPLES = 20_000
COMPARISONS = [30, pytest.param(1000, marks=pytest.mark.long)]


def one_run(
    p50_us: float,
    p99_us: float,
    number: int,
    late: int = SAMPLES * 2 // 100,
    samples: int = SAMPLES,
    **changes: object,
) -> Run:
    """A run of which 2 % of the samples are late, or so many."""
    lower = [round(p50_us * 1000), round(p99_us * 1000)]
    histogram = Histogram(lower, [1, 1], [samples - late, late])
    thread = msgspec.structs.replace(
        thread_of([lower[0]]), histogram=histogram, count=samples, max_ns=lower[1]
    )
    changed = {"id": f"{number:016x}", "probe": "cyclic", "asked": Asked(interval_ns=10**6)}
    return msgspec.structs.replace(run_of(thread), **(changed | changes))


def side(tails_us: Sequence[float], first: int = 0) -> list[Run]:
    return [one_run(5, tail, first + at) for at, tail in enumerate(tails_us)]


def verdict(a: Sequence[float], b: Sequence[float], margin: float = 0.05) -> Gate:
    return gate(side(a), side(b, 1000), margin)


@pytest.mark.parametrize("comparisons", COMPARISONS)
@pytest.mark.parametrize("noise", ["normal", "heavy", "some slow"])
def test_runs_of_the_same_system_fail_in_at_most_one_case_of_a_hundred(
    noise: str, comparisons: int
) -> None:
    random = np.random.default_rng(7)

    def tails() -> list[float]:
        drawn = {
            "normal": random.normal(0, 0.05, 10),
            "heavy": 0.03 * random.standard_t(3, 10),
            "some slow": 0.02 * random.normal(size=10) + 0.4 * (random.random(10) < 0.2),
        }[noise]
        return [30 * math.exp(one) for one in drawn]

    outcomes = [verdict(tails(), tails()).outcome for _ in range(comparisons)]
    assert outcomes.count("fail") <= 0.01 * comparisons


@pytest.mark.parametrize("comparisons", COMPARISONS)
def test_the_change_that_calibration_promises_is_found_in_nine_of_ten_cases(
    comparisons: int,
) -> None:
    random = np.random.default_rng(11)

    def tails(runs: int, factor: float = 1.0) -> list[float]:
        return [30 * factor * math.exp(one) for one in random.normal(0, 0.03, runs)]

    told = calibrated(side(tails(1000)), 0.05, 0.1)
    row = next(row for row in told.rows if row.metric == "p99")
    change = row.found[told.numbers.index(20)]
    assert change
    assert row.spread == pytest.approx(0.03, rel=0.2)
    found = [verdict(tails(20), tails(20, change)).outcome for _ in range(comparisons)]
    assert found.count("fail") >= (0.9 - 3 * 0.3 / math.sqrt(comparisons)) * comparisons, (
        "90 %, less what chance may take"
    )


@pytest.mark.parametrize("comparisons", COMPARISONS)
def test_ten_percent_more_at_p9999_is_found_by_the_number_of_runs_that_calibration_advised(
    comparisons: int,
) -> None:
    random = np.random.default_rng(13)

    def runs_of(number: int, factor: float = 1.0, first: int = 0) -> list[Run]:
        return [
            one_run(5, 30 * factor * math.exp(one), first + at, late=40, samples=200_000)
            for at, one in enumerate(random.normal(0, 0.05, number))
        ]

    found, advised = 0, []
    for _ in range(comparisons):
        told = calibrated(runs_of(20), 0.05, 0.1)
        assert [row.metric for row in told.rows] == ["p50", "p99", "p99.9", "p99.99"]
        runs = max(row.runs_to_find or 0 for row in told.rows)
        advised.append(runs)
        verdict = gate(runs_of(runs), runs_of(runs, 1.1, 1000), 0.05)
        failed = {row.metric for row in verdict.rows if row.outcome == "fail"}
        found += "p99.99" in failed
    assert found >= (0.9 - 3 * 0.3 / math.sqrt(comparisons)) * comparisons
    assert 20 < np.median(advised) < 100


def test_divisions_with_the_same_difference_count_as_large_though_sums_are_rounded() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        steps = random.integers(0, 3, 12)
        values = np.array([0.1 * float(step) for step in steps])
        told = permutation.tested(values[:6], values[6:], 0.0, 0.01)
        sums = [steps[list(members)].sum() for members in combinations(range(12), 6)]
        assert told.p_above == np.mean(np.array(sums) >= steps[6:].sum())
        assert told.p_below == np.mean(np.array(sums) <= steps[6:].sum())


def test_too_few_runs_for_any_verdict_are_promised_nothing() -> None:
    told = calibrated(side([30 + 0.1 * at for at in range(8)]), 0.05, 0.1)
    assert [row.found[told.numbers.index(5)] for row in told.rows] == [None, None, None]
    assert [row.runs_to_find for row in told.rows] == [6, 7, 7]
    assert not told.drifted


def test_a_system_that_drifts_is_reported_when_it_is_calibrated() -> None:
    later = [
        one_run(5, 30 + 2 * (at > 9) + 0.01 * at, at, created=f"2026-11-24T02:{at:02}:00Z")
        for at in range(20)
    ]
    told = calibrated(later[::-1], 0.05, 0.1)
    assert {(row.metric, row.kind) for row in told.drifted} == {
        ("p99", "level"),
        ("p99.9", "level"),
    }
    assert all(row.ratio > 1 for row in told.drifted)


def of_plan(cell: str, tails_us: Sequence[float], first: int, probe: str = "cyclic") -> list[Run]:
    """The runs of one cell of a plan."""
    return [
        msgspec.structs.replace(
            run, probe=probe, experiment="e", cell=f"{cell}, repetition {at + 1}"
        )
        for at, run in enumerate(side(tails_us, first))
    ]


def test_each_cell_of_a_plan_is_compared_with_its_own() -> None:
    tails = [30 + 0.1 * at for at in range(12)]
    base = of_plan("cyclic, load idle", tails, 0) + of_plan("pi, load idle", tails, 100, "pi")
    same = of_plan("pi, load idle", tails, 200, "pi")
    slow = of_plan("cyclic, load idle", [1.3 * one for one in tails], 300)
    told = gate(base, same + slow, 0.05)
    assert told.outcome == "fail"
    assert {(row.cell, row.metric) for row in told.rows if row.outcome == "fail"} == {
        ("cyclic, load idle", "p99"),
        ("cyclic, load idle", "p99.9"),
    }
    assert told.runs_a_side == 12
    with pytest.raises(RtscopeError, match="candidate has no run of: pi, load idle"):
        gate(base, slow, 0.05)


def exact_runs(tails_us: Sequence[float], first: int, mips: float = 1000) -> list[Run]:
    """Runs of the exact lab with the seeds 1, 2, ..."""
    lab = Lab("exact", mips, 1, 1, "7.2", [], "k", "s", "h", None, "i")
    return [
        msgspec.structs.replace(run, lab=msgspec.structs.replace(lab, seed=seed))
        for seed, run in enumerate(side(tails_us, first), 1)
    ]


def test_exact_runs_with_the_same_seeds_are_compared_without_a_test() -> None:
    base = exact_runs([30, 40, 50], 0)
    worse = gate(base, exact_runs([36, 44, 50], 10), 0.05)
    assert (worse.outcome, worse.seeds) == ("fail", [1, 2, 3])
    row = next(row for row in worse.rows if row.metric == "p99")
    assert (row.kind, row.outcome, row.seeds, row.slower_seeds) == ("exact", "fail", 3, 2)
    assert row.ratio == pytest.approx((1.2 * 1.1 * 1.0) ** (1 / 3), rel=1e-3)
    assert [row.low, row.high] == pytest.approx([1.0, 1.2], rel=1e-3)
    assert gate(base[:1], exact_runs([30], 10), 0.05).outcome == "pass"


def test_exact_runs_that_are_not_of_the_same_seeds_or_clock_are_tested() -> None:
    base = exact_runs([30 + 0.1 * at for at in range(8)], 0)
    fewer = gate(base, exact_runs([30 + 0.1 * at for at in range(7)], 10), 0.05)
    faster = gate(base, exact_runs([30 + 0.1 * at for at in range(8)], 10, mips=500), 0.05)
    assert [one.seeds for one in (fewer, faster)] == [[], []]
    assert {row.kind for row in (*fewer.rows, *faster.rows)} == {"level", "spread"}


def test_an_ensemble_counts_as_the_runs_of_its_seeds() -> None:
    singles = exact_runs([30, 40, 50], 0)
    members = [Member(run.lab.seed, "complete", run.threads) for run in singles if run.lab]
    ensemble = msgspec.structs.replace(singles[0], id=f"{99:016x}", members=members)
    told = gate(singles, [ensemble], 0.05)
    assert (told.outcome, told.seeds) == ("pass", [1, 2, 3])
    assert {(row.low, row.high) for row in told.rows} == {(1.0, 1.0)}


def test_each_outcome_names_its_metric_and_what_would_decide() -> None:
    base = [30 + 0.1 * at for at in range(10)]
    same = verdict(base, base)
    assert (same.outcome, same.more_runs) == ("pass", None)
    worse = verdict(base, [1.3 * one for one in base])
    assert worse.outcome == "fail"
    assert [(row.metric, row.kind) for row in worse.rows if row.outcome == "fail"] == [
        ("p99", "level"),
        ("p99.9", "level"),
    ]
    row = next(row for row in worse.rows if row.outcome == "fail")
    assert row.ratio == pytest.approx(1.3, rel=1e-3)
    assert 1.25 < row.low < 1.3 < row.high < 1.35
    few = verdict(base[:3], [1.3 * one for one in base[:3]])
    assert few.outcome == "inconclusive"
    assert few.more_runs is not None
    more = few.more_runs + 3
    longer = [30 + 0.1 * (at % 10) for at in range(more)]
    assert verdict(longer, [1.3 * one for one in longer]).outcome == "fail"


def test_a_third_of_the_runs_that_got_slow_is_seen() -> None:
    base = [30 + 0.1 * (at % 10) for at in range(30)]
    third = [one * (2 if at % 3 == 0 else 1) for at, one in enumerate(base)]
    told = verdict(base, third)
    assert told.outcome == "fail"
    assert {row.kind for row in told.rows if row.outcome == "fail"} == {"level", "spread"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "has 1 run: one run does not show"),
        ({"load": "mixed"}, "differ in the load"),
        ({"probe": "pi"}, "a gate takes runs of one probe"),
        (
            {"asked": Asked(interval_ns=10**6, options={"method": "timer"})},
            "differ in the method",
        ),
        ({"status": "interrupted"}, "ended early"),
        ({"id": f"{0:016x}"}, "named twice"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    change: dict[str, str | Status | Asked], said: str
) -> None:
    candidates = [msgspec.structs.replace(one_run(5, 30, 7), **change), one_run(5, 30, 8)]
    with pytest.raises(RtscopeError, match=said):
        gate(side([30, 31]), candidates if change else candidates[:1], 0.05)


def test_a_side_of_two_systems_has_a_warning() -> None:
    other = msgspec.structs.replace(one_run(5, 30, 0).machine, kernel_release="7.2")
    candidates = [one_run(5, 30, 7), one_run(5, 30, 8, machine=other), one_run(5, 30, 9)]
    told = gate(side([30, 31]), candidates, 0.05)
    assert [one.code for one in told.warnings if "mixed" in one.code] == ["mixed-candidate"]
    assert "7.2" in next(one.text for one in told.warnings if one.code == "mixed-candidate")


def test_what_differs_between_the_sides_is_listed() -> None:
    other = msgspec.structs.replace(one_run(5, 30, 0).machine, kernel_release="7.2")
    candidates = [one_run(5, 30, 7 + at, machine=other) for at in range(2)]
    told = gate(side([30, 31]), candidates, 0.05)
    assert [(one.of, one.b) for one in told.differences] == [("kernel", "7.2")]
