# SPDX-License-Identifier: GPL-2.0-only
"""The debug kernels of the ports have nothing to complain of, whatever runs on them."""

from collections.abc import Callable

import pytest

from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.lab.boards import find_board
from rtscope.lab.kernels import Kernel
from rtscope.lab.recipes import recipes
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from tests.lab.complaints import complaints

Built = Callable[[str], Kernel]

KERNELS = sorted(name for name in recipes().kernels if name.endswith("-debug"))
PROBES = [
    "async",
    "cyclic",
    "daq",
    "event",
    "gtod",
    "loop",
    "migrate",
    "noise",
    "pi",
    "sched",
    "signal",
]
LOADS = [
    "idle",
    "files:50+disk:1",
    "network:1+ipc:1",
    "process:2+timers:1",
    "cpu:1+memory:1+cache:1+video:1",
    "mixed",
]

pytestmark = [pytest.mark.long, pytest.mark.parametrize("name", KERNELS)]


def console_of(kernel: Kernel, probe: str, load: str) -> str:
    """What the kernel said while this was measured, on two CPUs where its board has them."""
    cpus = min(2, find_board(kernel.board, kernel.arch).most_cpus)
    request = Request(probe=probe, samples=300, load=load)
    target = target_of(f"vm:{kernel.name},cpus={cpus}")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.status == "complete"
    assert run.lab is not None
    return run.lab.console


@pytest.mark.parametrize("load", LOADS)
def test_no_load_makes_it_complain(name: str, load: str, built: Built) -> None:
    assert complaints(console_of(built(name), "cyclic", load)) == []


@pytest.mark.parametrize("probe", PROBES)
def test_no_probe_makes_it_complain(name: str, probe: str, built: Built) -> None:
    assert complaints(console_of(built(name), probe, "idle")) == []
