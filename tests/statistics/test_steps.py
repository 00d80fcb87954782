# SPDX-License-Identifier: GPL-2.0-only
"""What a step bought is told with what chance may have added, round by round."""

import numpy as np
import pytest

from rtscope.model.reason import Reason
from rtscope.model.run import Run
from rtscope.model.tuning import Change, Tuning
from rtscope.statistics.steps import Steps, steps_among
from tests.measured import run_of, thread_of

NAMES = ("as booted", "moved", "isolated")


def tuned(step: int, round_number: int, scale: float, **fields: object) -> Run:
    """CPU 0 is disturbed and stays so, CPU 1 gets better by `scale`; both drift with the rounds."""
    rng = np.random.default_rng(100 * step + round_number)
    drift = 1 + 0.3 * round_number
    threads = [
        thread_of((rng.lognormal(8, 0.3, 3000) * drift * factor).astype(np.int64), cpu)
        for cpu, factor in ((0, 3.0), (1, scale))
    ]
    tuning = Tuning("ours", step, NAMES[step], cpus="1", round=round_number, held=step * 10)
    return run_of(
        *threads, id=f"{step:08x}{round_number:08x}", tuning=tuning, elapsed_ns=10**9, **fields
    )


def steps(scales: tuple[float, ...], rounds: int = 6) -> Steps:
    runs = [
        tuned(step, number, scale)
        for number in range(1, rounds + 1)
        for step, scale in enumerate(scales)
    ]
    (found,) = steps_among(runs)
    return found


def effects(found: Steps, step: int, place: int = 0) -> dict[str, str]:
    return {row.figure: row.effect for row in found.results[step].on[place].figures}


def test_a_step_that_helps_is_better_on_its_cpus_and_nowhere_else() -> None:
    found = steps((1.0, 0.5, 0.5))
    assert [result.name for result in found.results] == list(NAMES)
    assert [(on.cpus, on.chosen) for on in found.results[1].on] == [("1", True), ("0", False)]
    assert set(effects(found, 0).values()) == {"untested"}
    assert effects(found, 1) == {"p50": "better", "p99": "better", "max": "better"}
    assert set(effects(found, 1, 1).values()) == {"same"}
    assert set(effects(found, 2).values()) == {"same"}
    whole = found.results[2].on[0].since_first
    assert {row.figure: row.effect for row in whole}["p99"] == "better"


def test_a_drift_of_the_machine_is_no_effect_and_does_not_hide_one() -> None:
    row = steps((1.0, 0.9, 0.9)).results[1].on[0].figures[0]
    assert row.figure == "p50"
    assert row.effect == "better"
    spread = (row.a.interval.high_ns or 0) - (row.a.interval.low_ns or 0)
    limits = (row.difference.interval.high_ns or 0) - (row.difference.interval.low_ns or 0)
    assert limits < spread / 3


def test_worse_is_said_as_well() -> None:
    assert effects(steps((1.0, 1.5, 1.5)), 1)["p50"] == "worse"


def test_chance_alone_finds_nothing() -> None:
    found = steps((1.0, 1.0, 1.0))
    told = [effects(found, step, place) for step in (1, 2) for place in (0, 1)]
    assert {effect for one in told for effect in one.values()} == {"same"}


def test_the_limits_hold_the_true_difference_as_often_as_they_say() -> None:
    """Of a mean of normal rounds, 95 % of 400 times: within four standard deviations of that."""
    from rtscope.statistics.steps import _mean_and_limits

    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        _, limits = _mean_and_limits(rng.normal(1000, 200, 5).tolist())
        assert limits.low_ns is not None
        assert limits.high_ns is not None
        hits += limits.low_ns <= 1000 <= limits.high_ns
    assert abs(hits / 400 - 0.95) < 4 * (0.95 * 0.05 / 400) ** 0.5


def test_one_round_tells_differences_but_calls_nothing() -> None:
    found = steps((1.0, 0.5, 0.5), rounds=1)
    row = found.results[1].on[0].figures[0]
    assert row.difference.value_ns is not None
    assert row.difference.value_ns < 0
    assert row.difference.interval.low_ns is None
    assert row.effect == "untested"
    assert row.reasons == [Reason("one-round", 1, 2)]


def test_only_rounds_that_both_steps_have_are_held_against_each_other() -> None:
    runs = [tuned(step, number, 1.0) for number in (1, 2, 3) for step in (0, 1)]
    runs.append(tuned(0, 4, 50.0))
    (found,) = steps_among(runs)
    assert [result.rounds for result in found.results] == [4, 3]
    row = found.results[1].on[0].figures[0]
    assert row.effect == "same"
    assert abs(row.difference.value_ns or 1e9) < 500


def test_a_run_that_was_cut_short_is_no_round() -> None:
    runs = [tuned(step, number, 1.0) for number in (1, 2) for step in (0, 1)]
    runs.append(tuned(1, 3, 9.0, status="interrupted"))
    (found,) = steps_among(runs)
    assert [result.rounds for result in found.results] == [2, 2]


def test_loads_and_targets_are_not_put_together() -> None:
    runs = [tuned(0, 1, 1.0), tuned(0, 1, 1.0, load="mixed"), tuned(0, 1, 1.0, target="vm:x")]
    assert [(one.load, one.target) for one in steps_among(runs)] == [
        ("idle", "local"),
        ("mixed", "local"),
        ("idle", "vm:x"),
    ]
    assert steps_among([run_of(thread_of([1, 2, 3]))]) == []


def test_who_ran_where_is_told_where_the_runs_know_it() -> None:
    import msgspec

    def counted(run: Run, interrupts: list[float]) -> Run:
        threads = [
            msgspec.structs.replace(thread, facts={"device_interrupts": count, "switches": 10.0})
            for thread, count in zip(run.threads, interrupts, strict=True)
        ]
        return msgspec.structs.replace(run, threads=threads)

    runs = [counted(tuned(0, number, 1.0), [5.0, 7.0]) for number in (1, 2)]
    (found,) = steps_among(runs)
    chosen, other = found.results[0].on
    assert (chosen.interrupts_per_s, other.interrupts_per_s) == (7.0, 5.0)
    assert chosen.switches_per_s == 10.0
    assert steps((1.0,), rounds=2).results[0].on[0].interrupts_per_s is None


def test_what_did_not_hold_in_any_round_is_told() -> None:
    import msgspec

    change = Change("ours", "interrupt", "24 (eth0)", "/proc/irq/24", "0-1", "0", "not-held", "x")
    runs = [tuned(1, number, 1.0) for number in (1, 2)]
    assert runs[1].tuning
    tuning = msgspec.structs.replace(runs[1].tuning, exceptions=[change], held=9)
    runs[1] = msgspec.structs.replace(runs[1], tuning=tuning)
    (found,) = steps_among(runs)
    assert found.results[0].exceptions == [change]
    assert found.results[0].held == 9


@pytest.mark.parametrize("values", [[5.0, 5.0, 5.0], [2048.0, 2048.0]])
def test_equal_rounds_are_no_more_exact_than_the_buckets(values: list[float]) -> None:
    from rtscope.statistics.steps import _mean_and_limits

    _, limits = _mean_and_limits(values)
    assert limits.low_ns is not None
    assert limits.low_ns < values[0] * (1 - 1 / 1024 / 2)


def test_the_same_figures_are_told_of_all_cpus() -> None:
    import msgspec

    runs = [tuned(step, number, 1.0) for number in (1, 2) for step in (0, 1)]
    few = thread_of(list(range(3000, 3500)), 0)
    runs[3] = msgspec.structs.replace(runs[3], threads=[few, runs[3].threads[1]])
    (found,) = steps_among(runs)
    names = {tuple(row.figure for row in on.figures) for one in found.results for on in one.on}
    assert names == {("p50", "max")}
