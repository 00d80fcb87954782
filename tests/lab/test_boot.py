# SPDX-License-Identifier: GPL-2.0-only
"""Real kernels on an emulated machine: figures, their repetition, and every way to fail."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.lab.kernels import Kernel, kernel_file
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.progress import Progress
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Agent
from rtscope.target.protocol import AnyLine, Start


def emulators() -> set[str]:
    """The QEMU processes that are children of this one, directly or through a keeper."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    return {line for line in listed.stdout.splitlines() if "qemu" in line or "setpriv" in line}


@pytest.fixture(autouse=True)
def _no_emulator_is_left() -> Iterator[None]:
    yield
    assert not emulators()


def test_a_measurement_on_the_rt_kernel_from_the_command_line(
    rt_kernel: Kernel, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--json", "--no-report",
         "--target", f"vm:{rt_kernel.name},mips=500", "--samples", "300",
         "--samples-file", str(tmp_path / "samples")],
        capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = msgspec.json.decode(done.stdout, type=Run)

    assert run.status == "complete"
    assert run.target == f"vm:{rt_kernel.name},mips=500"
    assert (run.machine.preemption, run.machine.kernel_release) == ("rt", rt_kernel.release)
    assert run.machine.high_resolution_timers
    assert run.created > "2026"
    thread = run.threads[0]
    assert thread.count == 300
    assert thread.min_ns is not None
    assert thread.max_ns is not None
    # Idle wake-up is some 3,500 instructions on this kernel, of 2 ns each.
    assert 4_000 < thread.min_ns < thread.max_ns < 60_000
    assert run.lab is not None
    assert run.lab.mips == 500
    assert run.lab.config_sha256
    assert "shift=1,sleep=off,align=off" in run.lab.command
    codes = {warning.code: warning.text for warning in run.warnings}
    assert "without caches, buses and firmware" in codes["counts-instructions"]
    assert not {"virtualised", "boot-not-over", "no-high-resolution-timers"} & set(codes)
    samples = (tmp_path / "samples").read_text().splitlines()
    latencies = [int(line.split("\t")[3]) for line in samples if not line.startswith("#")]
    assert len(latencies) == 300
    assert (min(latencies), max(latencies)) == (thread.min_ns, thread.max_ns)


@pytest.fixture(scope="module")
def standard(standard_kernel: Kernel) -> VmTarget:
    return vm_target(f"vm:{standard_kernel.name}")


def test_an_arm64_kernel_is_measured_on_any_host(arm64_kernel: Kernel) -> None:
    target = vm_target(f"vm:{arm64_kernel.name}")
    request = Request(samples=100)
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.status == "complete"
    assert run.lab is not None
    assert run.lab.command[0] == "qemu-system-aarch64"
    assert (run.threads[0].count, run.threads[0].missed) == (100, 0)
    assert run.threads[0].min_ns is not None
    assert 3_000 < run.threads[0].min_ns < 10_000
    assert "boot-not-over" not in {warning.code for warning in run.warnings}


def copied_kernel(kernel: Kernel, cache: Path, **changed: object) -> Path:
    """The folder of a copy of a kernel in another cache."""
    folder = cache / "rtscope" / "kernels" / "copy"
    shutil.copytree(kernel_file(kernel).parent, folder)
    record = folder / "kernel.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"name": "copy"} | changed))
    return folder


@pytest.mark.kernels
def test_a_guest_that_vanishes_leaves_the_histogram_sent_so_far(rt_kernel: Kernel) -> None:
    agents: list[Agent] = []

    def on_line(line: AnyLine) -> None:
        if isinstance(line, Progress) and line.threads[0].count > 100:
            agents[-1].kill()

    request = Request(duration_ns=600 * 10**9)
    target = vm_target(f"vm:{rt_kernel.name},mode=fast")
    run = measure(request, Machine(), agents.append, on_line, target)

    assert run.status == "failed"
    assert "agent-died" in {warning.code for warning in run.warnings}
    assert run.threads[0].count == sum(run.threads[0].histogram.count) > 100


def test_an_interrupted_measurement_keeps_what_it_saw_and_modules_load(
    standard_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = [*standard_kernel.modules, "broken"]
    folder = copied_kernel(standard_kernel, tmp_path, modules=modules)
    (folder / "modules" / "broken.ko").write_bytes(b"no module")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    agents: list[Agent] = []

    def on_line(line: AnyLine) -> None:
        if isinstance(line, Start):
            agents[0].interrupt()

    request = Request(duration_ns=3600 * 10**9)
    run = measure(request, Machine(), agents.append, on_line, target_of("vm:copy"))

    assert {"udp_tunnel", "vxlan"} < set(modules)
    assert run.status == "interrupted"
    assert run.lab is not None
    assert run.elapsed_ns is not None
    assert run.elapsed_ns < 3600 * 10**9
    assert "guest-complained" in {warning.code for warning in run.warnings}
    complaints = [line for line in run.lab.console.splitlines() if "cannot load" in line]
    assert complaints == [
        "rtscope-agent: cannot load the module /modules/broken.ko: Exec format error"
    ]


def test_a_module_that_is_asked_for_and_does_not_load_ends_in_a_sentence(
    standard_kernel: Kernel,
) -> None:
    target = vm_target(f"vm:{standard_kernel.name},load=vxlan udp_port=often")
    with (
        target.started_agent(Request()) as agent,
        pytest.raises(RtscopeError, match=r"cannot load the module /modules/vxlan.ko: Invalid arg"),
    ):
        list(agent.lines(60))


def test_an_interrupted_boot_ends_at_once(standard: VmTarget) -> None:
    with standard.started_agent(Request()) as agent:
        agent.interrupt()
        with pytest.raises(RtscopeError, match="interrupted while the guest was booting"):
            list(agent.lines(60))


def test_a_guest_that_panics_says_so_with_its_last_words(
    standard: VmTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "rtscope-agent"
    broken.write_bytes(b"no program at all")
    broken.chmod(0o755)
    monkeypatch.setenv("RTSCOPE_AGENT", str(broken))
    with (
        standard.started_agent(Request()) as agent,
        pytest.raises(
            RtscopeError, match=r"kernel panicked: No working init(.|\n)*console:\n(.|\n)* panic\+"
        ),
    ):
        list(agent.lines(60))


@pytest.mark.parametrize("start", ["booted", "restored"])
def test_a_guest_that_never_says_hello_is_ended_in_time(
    standard_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    copied_kernel(standard_kernel, tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # which has no snapshot of it
    target = vm_target(f"vm:copy,start={start}")
    hasty = msgspec.structs.replace(target, boot_limit_s=1.0)
    with (
        hasty.started_agent(Request()) as agent,
        pytest.raises(
            RtscopeError, match=r"never sent hello within 1 s of .* CPU time and was ended"
        ),
    ):
        list(agent.lines(60))
