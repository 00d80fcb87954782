# SPDX-License-Identifier: GPL-2.0-only
"""A gate of exact runs tells facts about two kernels."""

from collections.abc import Callable

import pytest

from rtscope.engine.measure import measure
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.statistics.gate.gate import gate

SEEDS = [1, 2, 3]


def runs_of(kernel: Kernel) -> list[Run]:
    target = vm_target(f"vm:{kernel.name}")
    return [
        measure(
            Request(load="mixed", samples=200, seed=seed),
            Machine(), lambda agent: None, lambda line: None, target,
        )
        for seed in SEEDS
    ]  # fmt: skip


@pytest.mark.kernels
def test_two_kernels_are_compared_by_the_same_seeds(built: Callable[[str], Kernel]) -> None:
    real_time, standard = built("x86_64-rt"), built("x86_64-std")
    base, again, other = runs_of(real_time), runs_of(real_time), runs_of(standard)
    same = gate(base, again, 0.0)
    assert (same.outcome, same.seeds) == ("pass", SEEDS)
    assert {(row.kind, row.low, row.high) for row in same.rows} == {("exact", 1, 1)}
    worse = gate(base, other, 0.05)
    assert (worse.outcome, worse.seeds) == ("fail", SEEDS)
    assert {row.slower_seeds for row in worse.rows if row.outcome == "fail"} == {len(SEEDS)}
