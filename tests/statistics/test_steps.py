# SPDX-License-Identifier: GPL-2.0-only
"""A tuning step's effect is compared with chance, round by round."""

import math

import msgspec
import numpy as np
import pytest

from rtscope.model.reason import Reason
from rtscope.model.run import Asked, Run
from rtscope.model.tuning import Change, Tuning
from rtscope.report.tables.steps import step_columns
from rtscope.statistics.steps import Steps, _mean_and_limits, steps_among
from tests.measured import run_of, thread_of

NAMES = ("as booted", "moved", "isolated")


def tuned(step: int, round_number: int, scale: float = 1.0, **fields: object) -> Run:
    """CPU 0 is disturbed and stays so, CPU 1 gets better by `scale`; both drift with the rounds."""
    rng = np.random.default_rng(100 * step + round_number)
    drift = 1 + 0.3 * round_number
    threads = [
        thread_of((rng.lognormal(8, 0.3, 3000) * drift * factor).astype(np.int64), cpu)
        for cpu, factor in ((0, 3.0), (1, scale))
    ]
    tuning = Tuning("ours", step, NAMES[step], cpus="1", round=round_number, held=step * 10)
    run_id = f"{step:08x}{round_number:08x}"
    run = run_of(*threads, id=run_id, tuning=tuning, elapsed_ns=10**9)
    return msgspec.structs.replace(run, **fields)


def only(runs: list[Run]) -> Steps:
    (found,) = steps_among(runs)
    return found


def steps(scales: tuple[float, ...], rounds: int = 6) -> Steps:
    each = range(1, rounds + 1)
    return only([tuned(step, n, scale) for n in each for step, scale in enumerate(scales)])


def effects(found: Steps, step: int, place: int = 0) -> dict[str, str]:
    return {row.metric: row.effect for row in found.results[step].on[place].metrics}


def test_a_step_that_helps_is_better_on_its_cpus_and_nowhere_else() -> None:
    found = steps((1.0, 0.5, 0.5))
    assert [result.name for result in found.results] == list(NAMES)
    assert [(on.cpus, on.chosen) for on in found.results[1].on] == [("1", True), ("0", False)]
    assert set(effects(found, 0).values()) == {"untested"}
    assert effects(found, 1) == {"p50": "better", "p99": "better", "max": "better"}
    assert set(effects(found, 1, 1).values()) == {"same"}
    assert set(effects(found, 2).values()) == {"same"}
    whole = found.results[2].on[0].since_first
    assert {row.metric: row.effect for row in whole}["p99"] == "better"
    assert effects(steps((1.0, 1.5, 1.5)), 1)["p50"] == "worse"


def test_missed_periods_are_filled_in_beside_the_tail() -> None:
    def stalled(run: Run, stalls: int) -> Run:
        """Both CPUs have these stalls of 50 periods in the round."""
        late = [5_000] * 3000 + [50_000_000] * stalls
        threads = [
            msgspec.structs.replace(thread_of(late, cpu), thread=cpu, missed=49 * stalls)
            for cpu in (0, 1)
        ]
        return msgspec.structs.replace(run, threads=threads, asked=Asked(interval_ns=1_000_000))

    each = [(step, n) for n in (1, 2, 3) for step in (0, 1)]
    found = only([stalled(tuned(step, n), 2 * step) for step, n in each])
    rows = {row.metric: row for row in found.results[1].on[0].metrics}
    assert list(rows) == ["p50", "p99", "p99.response", "max"]
    assert (rows["p99"].a.value_ns, rows["p99"].b.value_ns) == (5_000, 5_000)
    assert rows["p99.response"].a.value_ns == 5_000
    assert rows["p99.response"].b.value_ns == pytest.approx(35e6, rel=0.05)
    assert rows["p99.response"].effect == "worse"
    titles = [column.title for column in step_columns(found)]
    assert "p99.response" in titles


def test_a_drift_of_the_system_is_no_effect_and_does_not_hide_one() -> None:
    row = steps((1.0, 0.9, 0.9)).results[1].on[0].metrics[0]
    assert (row.metric, row.effect) == ("p50", "better")
    spread = (row.a.interval.high_ns or 0) - (row.a.interval.low_ns or 0)
    limits = (row.difference.interval.high_ns or 0) - (row.difference.interval.low_ns or 0)
    assert limits < spread / 3


def test_chance_alone_finds_nothing() -> None:
    found = steps((1.0, 1.0, 1.0))
    all_effects = [effects(found, step, place) for step in (1, 2) for place in (0, 1)]
    assert {effect for one in all_effects for effect in one.values()} == {"same"}


def test_the_limits_hold_the_true_difference_as_often_as_they_say() -> None:
    """Of a mean of normal rounds, 95 % of 400 times: within four standard deviations of that."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        _, limits = _mean_and_limits(rng.normal(1000, 200, 5).tolist())
        hits += (limits.low_ns or math.inf) <= 1000 <= (limits.high_ns or 0)
    assert abs(hits / 400 - 0.95) < 4 * (0.95 * 0.05 / 400) ** 0.5


@pytest.mark.parametrize("values", [[5.0, 5.0, 5.0], [2048.0, 2048.0]])
def test_equal_rounds_are_no_more_exact_than_the_buckets(values: list[float]) -> None:
    _, limits = _mean_and_limits(values)
    assert 0 < (limits.low_ns or 0) < values[0] * (1 - 1 / 1024 / 2)


def test_one_round_shows_differences_and_tests_nothing() -> None:
    row = steps((1.0, 0.5, 0.5), rounds=1).results[1].on[0].metrics[0]
    assert (row.difference.value_ns or 0) < 0
    assert (row.difference.interval.low_ns, row.effect) == (None, "untested")
    assert row.reasons == [Reason("one-round", 1, 2)]


def test_only_complete_rounds_that_both_steps_have_are_compared() -> None:
    runs = [tuned(step, number) for number in (1, 2, 3) for step in (0, 1)]
    found = only([*runs, tuned(0, 4, 50.0), tuned(1, 4, 9.0, status="interrupted")])
    assert [result.rounds for result in found.results] == [4, 3]
    row = found.results[1].on[0].metrics[0]
    assert row.effect == "same"
    assert abs(row.difference.value_ns or 1e9) < 500


def test_loads_and_targets_are_not_put_together() -> None:
    runs = [tuned(0, 1), tuned(0, 1, load="mixed"), tuned(0, 1, target="vm:x")]
    found = [(one.load, one.target) for one in steps_among(runs)]
    assert found == [("idle", "local"), ("mixed", "local"), ("idle", "vm:x")]
    assert steps_among([run_of(thread_of([1, 2, 3]))]) == []


def test_interrupts_and_switches_of_each_cpu_are_shown_where_the_runs_have_them() -> None:
    runs = [tuned(0, number) for number in (1, 2)]
    counted = [
        msgspec.structs.replace(
            run,
            threads=[
                msgspec.structs.replace(thread, metrics={"device_interrupts": n, "switches": 10.0})
                for thread, n in zip(run.threads, (5.0, 7.0), strict=True)
            ],
        )
        for run in runs
    ]
    on = only(counted).results[0].on
    assert [(one.interrupts_per_s, one.switches_per_s) for one in on] == [(7.0, 10.0), (5.0, 10.0)]
    assert only(runs).results[0].on[0].interrupts_per_s is None


def test_a_setting_that_did_not_hold_in_any_round_is_shown() -> None:
    change = Change("ours", "interrupt", "24 (eth0)", "/proc/irq/24", "0-1", "0", "not-held", "x")
    runs = [tuned(1, number) for number in (1, 2)]
    assert runs[1].tuning
    tuning = msgspec.structs.replace(runs[1].tuning, exceptions=[change], held=9)
    result = only([runs[0], msgspec.structs.replace(runs[1], tuning=tuning)]).results[0]
    assert (result.exceptions, result.held) == ([change], 9)


def test_all_cpus_have_the_same_metrics() -> None:
    runs = [tuned(step, number) for number in (1, 2) for step in (0, 1)]
    few = thread_of(list(range(3000, 3500)), 0)
    runs[3] = msgspec.structs.replace(runs[3], threads=[few, runs[3].threads[1]])
    names = [[row.metric for row in on.metrics] for one in only(runs).results for on in one.on]
    assert names == [["p50", "max"]] * 4
