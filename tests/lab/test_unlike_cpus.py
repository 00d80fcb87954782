# SPDX-License-Identifier: GPL-2.0-only
"""A guest whose device tree says that two of its CPUs are slower, which no emulated CPU is."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.measure import measure
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.finding import CpuGroups, CpusNotSlower, Finding, ReportedSpeed, ReportedTopology
from rtscope.model.machine import Machine
from rtscope.model.placements import kinds_of, orders_of
from rtscope.model.request import MachineRequest, Request
from rtscope.statistics.findings import findings_of
from rtscope.target.fingerprint import machine_of
from rtscope.target.protocol import files_of

pytestmark = pytest.mark.kernels

TRIES = 5
CAPACITIES = (446, 446, 1024, 1024)


@pytest.fixture
def big_little(built: Callable[[str], Kernel], tmp_path: Path) -> VmTarget:
    """Four CPUs of these capacities, as the device tree of the board with little cores has them."""
    target = vm_target(f"vm:{built('arm64-rt').name},cpus={len(CAPACITIES)}")
    tree = tmp_path / "board.dtb"
    machine, *others = target.board.options[1:]
    sized = ["-smp", str(len(CAPACITIES)), "-m", str(target.board.memory)]
    emulator = [target.board.emulator, "-nodefaults", *others, *sized]
    subprocess.run(
        [*emulator, "-machine", f"{machine},dumpdtb={tree}"], capture_output=True, check=True
    )
    for number, capacity in enumerate(CAPACITIES):
        words = ["-t", "u", tree, f"/cpus/cpu@{number}", "capacity-dmips-mhz", f"{capacity}"]
        subprocess.run(["fdtput", *map(str, words)], check=True)
    return msgspec.structs.replace(target, unseen=["-dtb", str(tree)])


def seen(target: VmTarget) -> Machine:
    """What the guest tells of itself; nothing of it is remembered."""
    with target.started_agent(MachineRequest()) as agent:
        return machine_of(files_of(agent.lines(90)))


def test_capacities_that_are_not_so_are_reported(big_little: VmTarget) -> None:
    machine = seen(big_little)
    assert [cpu.capacity for cpu in machine.cpus] == [*CAPACITIES]
    assert {cpu.kind for cpu in machine.cpus} == {"Cortex-A72"}
    [order] = orders_of(machine, range(4), [2])
    assert [one.cpus for one in order.placements] == [(2, 3)]
    assert [one.cpus for one in kinds_of(machine, range(4))] == [(0,), (2,)]
    # As many as the host may have CPUs for at once, whose turns look like speed: no other is said,
    # but where it gives them too few at all it cannot be told.
    request = Request(probe="topology", cpus="1,2", samples=25, options={"slot": "4ms"})
    wrong: list[Finding] = []
    for _ in range(TRIES):
        run = measure(request, machine, lambda agent: None, lambda line: None, big_little)
        found = findings_of(run)
        capacities = CpuGroups("capacity", {"446": [0, 1], "1024": [2, 3]})
        assert any(isinstance(f, ReportedTopology) and capacities in f.levels for f in found)
        wrong += [one for one in found if one.severity == "unexpected"]
        if wrong:
            break
    [one] = wrong
    assert isinstance(one, CpusNotSlower)
    assert (one.cpus, one.than, one.partly) == ([1], [2], False)
    assert one.reported == ReportedSpeed(capacity=446, highest_capacity=1024)
