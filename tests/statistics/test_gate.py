# SPDX-License-Identifier: GPL-2.0-only
"""The gate decides by runs, is rarely wrong, and finds what it says that it finds."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Asked, Run, Status
from rtscope.statistics.gate import Gate, calibrated, gate
from tests.measured import run_of, thread_of

SAMPLES = 20_000
COMPARISONS = [60, pytest.param(1000, marks=pytest.mark.long)]


def one_run(p50_us: float, p99_us: float, number: int, **changes: object) -> Run:
    """A run of which 2 % of the samples are late."""
    lower = [round(p50_us * 1000), round(p99_us * 1000)]
    histogram = Histogram(lower, [1, 1], [SAMPLES * 98 // 100, SAMPLES * 2 // 100])
    thread = msgspec.structs.replace(
        thread_of([lower[0]]), histogram=histogram, count=SAMPLES, max_ns=lower[1]
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

    told = calibrated(side(tails(4000)), 0.05)
    row = next(row for row in told.rows if row.metric == "p99")
    change = row.found[told.numbers.index(20)]
    assert row.spread == pytest.approx(0.03, rel=0.2)
    found = [verdict(tails(20), tails(20, change)).outcome for _ in range(comparisons)]
    assert found.count("fail") >= (0.9 - 3 * 0.3 / math.sqrt(comparisons)) * comparisons, (
        "90 %, less what chance may take"
    )


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
        ({"status": "interrupted"}, "ended early"),
        ({"id": f"{0:016x}"}, "named twice"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    change: dict[str, str | Status], said: str
) -> None:
    candidates = [one_run(5, 30, 7, **change), one_run(5, 30, 8)]
    with pytest.raises(RtscopeError, match=said):
        gate(side([30, 31]), candidates if change else candidates[:1], 0.05)


def test_what_differs_between_the_sides_is_listed() -> None:
    other = msgspec.structs.replace(one_run(5, 30, 0).machine, kernel_release="7.2")
    candidates = [one_run(5, 30, 7 + at, machine=other) for at in range(2)]
    told = gate(side([30, 31]), candidates, 0.05)
    assert [(one.of, one.b) for one in told.differences] == [("kernel", "7.2")]
