# SPDX-License-Identifier: GPL-2.0-only
"""A delay of known length in a module is named as what made a thread late."""

import os
import subprocess
import sys

import pytest

from rtscope.engine.explain import Received, explained
from rtscope.engine.measure import measure
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import Request

DELAY_NS = 200_000


@pytest.fixture(scope="module")
def kernel() -> str:
    """The lab's own real-time kernel, built where it has not been."""
    subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "lab", "kernel", "build", "x86_64-rt"],
        check=True, env=os.environ,
    )  # fmt: skip
    return "x86_64-rt"


@pytest.mark.kernels
@pytest.mark.parametrize("udelay", [0, 1])
@pytest.mark.parametrize("what", ["interrupts", "preemption"])
def test_the_module_that_turned_them_off_is_named(kernel: str, what: str, udelay: int) -> None:
    parameters = f"delay_us={DELAY_NS // 1000} preemption={int(what == 'preemption')}"
    parameters += f" udelay={udelay}"
    target = vm_target(f"vm:{kernel},load=rtdelay {parameters}")
    request, received = Request(samples=400), Received()
    run = measure(request, Machine(), lambda agent: None, received.receive, target)
    (reported,) = explained(run, received, request, target, 1, lambda agent: None).explanations

    assert reported.latency_ns > DELAY_NS / 2
    assert reported.cause[0].function.endswith(" [rtdelay]")
    assert reported.cause[0].ns > 0.9 * reported.latency_ns
    assert sum(function.ns for function in reported.functions) == reported.latency_ns
    assert reported.functions[0].function.endswith(" [rtdelay]") or not udelay
    assert reported.tasks is not None
    assert reported.tasks[0].name.startswith("rtdelay/")
    off = {"interrupts": reported.interrupts_off, "preemption": reported.preemption_off}
    longest = {name: max((one.ns for one in found or []), default=0) for name, found in off.items()}
    assert longest[what] > 0.9 * reported.latency_ns
    assert longest["interrupts" if what == "preemption" else "preemption"] < 0.1 * DELAY_NS
