# SPDX-License-Identifier: GPL-2.0-only
"""A cause leads to a change, and runs with and without it to a verdict."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from rtscope.audit.audit import RULES
from rtscope.engine.cells import measure_command
from rtscope.engine.planfile import made_plan
from rtscope.engine.proving import (
    chosen_cause,
    cpus_of,
    outlier_limit_ns,
    plan_content,
    profile_for,
    proof_of,
)
from rtscope.model.cause import Cause
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.model.run import Asked, Run
from rtscope.model.timeline import TermKind
from rtscope.model.tuning import Tuning
from rtscope.store.database import save
from rtscope.store.naming import newest_explained
from rtscope.tuning.profile import read_profile, steps_of
from rtscope.tuning.remedies import remedy_of
from rtscope.wording.proof import proof_lines
from tests.explain.traces import recorded_run
from tests.measured import run_of, thread_of

HOSTILE = 'x"]\nboot = { add = "evil" }\n*'


def cause(kind: TermKind, name: str) -> Cause:
    return Cause(kind, name, 1, 1, 5, 0.5, None, None, [1], 5, None)


@pytest.mark.parametrize("name", ["eth0", "kworker/1:2", "local_timer", "reschedule", HOSTILE, ""])
@pytest.mark.parametrize("kind", get_args(TermKind))
def test_every_remedy_is_a_valid_step_and_has_rules_of_check(
    kind: TermKind, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remedy = remedy_of(cause(kind, name))
    assert set(remedy.rules) <= {rule.id for rule in RULES}
    if not remedy.step:
        with pytest.raises(RtscopeError, match="--profile"):
            profile_for(cause(kind, name))
        return
    steps = steps_of(read_profile(str(profile_for(cause(kind, name)))), "1")
    assert len(steps) == 2
    assert steps[1].rules
    assert not any(rule.startswith("boot") for rule in steps[1].rules)


def test_a_cause_is_chosen_by_number_name_or_the_largest_with_a_remedy() -> None:
    run = recorded_run()
    assert chosen_cause(run, "last").name == "irq/9-eth 0"
    assert chosen_cause(run, "1") == chosen_cause(run, "last")
    assert chosen_cause(run, "hard-interrupt:eth0").name == "eth0"
    assert cpus_of(chosen_cause(run, "last"), run) == "1"
    with pytest.raises(RtscopeError, match="timer-late:make"):
        chosen_cause(run, "nobody")
    with pytest.raises(RtscopeError, match="--explain"):
        chosen_cause(run_of(thread_of([1000])), "last")


def test_a_proof_begins_with_the_newest_run_that_has_explained_samples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(RtscopeError, match="--explain"):
        newest_explained()
    save(recorded_run())
    save(run_of(thread_of([1000]), id="0" * 16))  # a measurement of the proof itself
    assert newest_explained().id == recorded_run().id


@pytest.mark.parametrize(
    ("probe", "asked", "given"),
    [
        ("cyclic", Asked(command=["rtscope", "measure", "cyclic", "--option=distance=500us"]),
         {"distance": "500us"}),
        ("scaling", Asked(command=["rtscope", "measure", "scaling", "--option=table=64K"],
                          options={"table_bytes": 65536}), {"table": "64K"}),
        ("cyclic", Asked(command=measure_command(
            Request("cyclic", options={"distance": "500ns", "method": "timerfd"}))),
         {"distance": "500ns", "method": "timerfd"}),
        ("gtod", Asked(options={"clock": "all"}), {}),
        ("loop", Asked(options={"observer": "CPU 1"}), {}),
    ],
)  # fmt: skip
def test_the_plan_measures_like_the_run(
    probe: str,
    asked: Asked,
    given: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = msgspec.structs.replace(recorded_run(), load="mixed:2")
    path = profile_for(chosen_cause(run, "last"))
    run = msgspec.structs.replace(run, probe=probe, asked=asked)
    content = plan_content(run, str(path), "1", rounds=3, duration_ns=10**9, target="local")
    plan = made_plan(content).plan
    assert (plan.repetitions, plan.order) == (3, "shuffled")
    assert [plan.measure[0].probes, plan.measure[0].loads] == [[probe], ["mixed:2"]]
    assert plan.measure[0].options == given


def test_outliers_are_above_p99_to_two_digits() -> None:
    assert outlier_limit_ns(run_of(thread_of(list(range(1, 12_346))))) == 12_000
    with pytest.raises(RtscopeError, match="--above"):
        outlier_limit_ns(run_of(thread_of([1000])))


def runs(on: int, off: int, *, held: int = 1) -> list[Run]:
    found = []
    for number in range(1, 6):
        for step, late in ((0, off), (1, on)):
            tuning = Tuning("prove", step, "cause removed", round=number, held=held * step)
            samples = [1000] * (5000 - late) + [90_000] * late
            found.append(run_of(thread_of(samples), id=f"{step:08x}{number:08x}", tuning=tuning))
    return found


@pytest.mark.parametrize(
    ("measured", "verdict", "text"),
    [
        (runs(8, 40), "fewer", "by 80 % (72 to 86 %)"),
        (runs(80, 40), "more", "2 times"),
        (runs(40, 42), "undecided", "more rounds"),
        (runs(0, 0), "no-outliers", "longer"),
        (runs(0, 40, held=0), "not-changed", "not in effect"),
    ],
)
def test_a_verdict_follows_from_the_outliers_of_both(
    measured: list[Run], verdict: str, text: str
) -> None:
    proof = proof_of(cause("thread", "make"), measured, 50_000)
    assert proof.verdict == verdict
    assert (proof.rounds, proof.on.samples, len(proof.runs)) == (5, 25_000, 10)
    assert text in proof_lines(proof)[0]
