# SPDX-License-Identifier: GPL-2.0-only
"""A machine whose CPU 0 is offline: what else measures takes it for one CPU among others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.engine.measure import receive_run
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.finding import CpusNotMeasured
from rtscope.model.placements import orders_of
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.statistics.findings import findings_of
from rtscope.target.fingerprint import machine_of
from rtscope.target.local import agent_path
from rtscope.target.protocol import decode_line, files_of
from tests.lab.guest_program import run_guest
from tests.lab.guest_shell import sections


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("arm64-rt", marks=pytest.mark.kernels),
        pytest.param("pseries-rt", marks=pytest.mark.long),
    ],
)
def test_all_is_measured_on_the_other_cpus(
    name: str, built: Callable[[str], Kernel], tmp_path: Path
) -> None:
    kernel = built(name)
    came = run_guest(
        vm_target(f"vm:{kernel.name},cpus=3,mode=fast"),
        "offline_guest.c",
        tmp_path,
        files={"agent": agent_path(kernel.arch).read_bytes()},
        limit_s=300,
    )
    lines = {
        verb: [decode_line(line.encode()) for line in said.splitlines() if line]
        for verb, said in sections(came.said).items()
        if verb != "end"
    }
    machine = machine_of(files_of(lines.pop("machine")))
    assert [cpu.online for cpu in machine.cpus] == [False, True, True]
    [order] = orders_of(machine, [1, 2], [1, 2])
    assert [one.cpus for one in order.placements] == [(1,), (1, 2)]
    runs: dict[str, Run] = {
        verb: receive_run(Request(probe=verb), machine, said, lambda line: None)
        for verb, said in lines.items()
    }
    assert {run.status for run in runs.values()} == {"complete"}
    assert {
        verb: [thread.cpu for thread in run.threads if thread.cpu is not None]
        for verb, run in runs.items()
    } == {"topology": [1, 2], "memory": [1, 2], "scaling": [1], "cyclic": [1, 2]}
    for probe in ("topology", "memory"):
        assert CpusNotMeasured(cpus=[0], offline=True) in findings_of(runs[probe])
