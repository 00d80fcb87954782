# SPDX-License-Identifier: GPL-2.0-only
"""The multicore report's steps on an emulated machine with four CPUs, for their function."""

import re
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.cells import cells_of
from rtscope.engine.measure import measure, read_machine
from rtscope.engine.planfile import read_plan
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.report.page.report import html_report
from rtscope.statistics.steps import steps_among

PLAN = Path(__file__).parents[2] / "rtscope" / "plans" / "multicore-steps.toml"


@pytest.mark.kernels
def test_the_shipped_plan_isolates_cpus_in_a_guest(rt_kernel: Kernel) -> None:
    target = vm_target(f"vm:{rt_kernel.name},cpus=4,mode=fast")
    machine = read_machine(target)
    cells = [
        cell
        for cell in cells_of(read_plan(PLAN).with_changes(targets=[target.name]), 0.005)
        if re.fullmatch(r"(as booted|isolated): cyclic, load idle, .*repetition 1", cell.name)
    ]
    runs = [
        msgspec.structs.replace(
            measure(cell.request, machine, lambda agent: None, lambda line: None, target),
            cell=cell.name,
        )
        for cell in cells
    ]
    (steps,) = steps_among(runs)
    assert (steps.profile, steps.cpus) == ("isolated-cores", "1-3")
    booted, isolated = steps.results
    assert [one.name for one in steps.results] == ["as booted", "isolated"]
    assert 0 == booted.held < isolated.held
    assert isolated.exceptions == []
    assert [on.cpus for on in isolated.on] == ["1-3", "0"]
    for on in (on for one in steps.results for on in one.on):
        assert on.samples
        assert on.interrupts_per_s is not None
        assert on.switches_per_s
    assert any("its times are the host's" in doubt for doubt in steps.warnings)
    assert 'id="steps-0"' in html_report(runs)
