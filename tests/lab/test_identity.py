# SPDX-License-Identifier: GPL-2.0-only
"""Ten runs of one measurement are one: idle, under each load, and beside a busy host."""

import hashlib
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rtscope.engine.measure import measure
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import MachineRequest, Request
from rtscope.target.protocol import check_hello

RUNS = 10
SAMPLES = 200
ALL = ("idle", "cache", "cpu", "disk", "files", "ipc", "memory", "network", "process",
       "timers", "video", "mixed")  # fmt: skip


def hashes(kernel: Kernel, load: str, runs: int, place: Path, start: str) -> list[str]:
    """Of every sample of each run, half of them beside stress-ng."""
    target = vm_target(f"vm:{kernel.name},start={start}")
    request = Request(load=load, samples=SAMPLES, samples_file=str(place / "samples"))
    found = []
    for number in range(runs):
        busy = ["stress-ng", "--quiet", "--cpu", "2"] if number % 2 else ["sleep", "infinity"]
        with subprocess.Popen(busy) as beside:
            try:
                with target.started_agent(request) as agent:
                    for _ in agent.lines(90):
                        pass
            finally:
                beside.terminate()
        samples = (place / "samples").read_bytes()
        assert samples.count(b"\n") > SAMPLES
        found.append(hashlib.sha256(samples).hexdigest())
    return found


@pytest.mark.parametrize(
    ("load", "start"),
    [
        ("idle", "restored"),
        ("process", "restored"),
        pytest.param("process", "booted", marks=pytest.mark.long),
    ],
)
def test_two_runs_are_the_same_one_of_them_on_a_busy_host(
    rt_kernel: Kernel, load: str, start: str, tmp_path: Path
) -> None:
    assert len(set(hashes(rt_kernel, load, 2, tmp_path, start))) == 1


@pytest.mark.parametrize("load", ["idle", "process"])
@pytest.mark.parametrize("start", ["restored", pytest.param("booted", marks=pytest.mark.long)])
def test_a_run_whose_samples_are_wanted_is_the_same_as_one_without(
    rt_kernel: Kernel, load: str, start: str, tmp_path: Path
) -> None:
    target = vm_target(f"vm:{rt_kernel.name},start={start}")
    request = Request(load=load, samples=SAMPLES)
    wanted = msgspec.structs.replace(request, samples_file=str(tmp_path / "samples"))
    without, with_them = (
        measure(one, Machine(), lambda agent: None, lambda line: None, target)
        for one in (request, wanted)
    )

    assert with_them.threads == without.threads
    assert with_them.elapsed_ns == without.elapsed_ns
    assert with_them.start_monotonic_ns == without.start_monotonic_ns
    written = np.loadtxt(tmp_path / "samples", dtype=np.int64)[:, 3]
    assert (len(written), written.max()) == (SAMPLES, without.threads[0].max_ns)


@pytest.mark.long
@pytest.mark.parametrize("load", ALL)
def test_ten_runs_are_the_same_half_of_them_on_a_busy_host(
    rt_kernel: Kernel, load: str, tmp_path: Path
) -> None:
    assert len(set(hashes(rt_kernel, load, RUNS, tmp_path, "restored"))) == 1


def test_every_load_of_the_agent_is_among_those(rt_kernel: Kernel) -> None:
    with vm_target(f"vm:{rt_kernel.name}").started_agent(MachineRequest()) as agent:
        hello = check_hello(next(iter(agent.lines(60))))

    assert set(hello.loads) - {"stress-ng", "cmd"} == set(ALL)
