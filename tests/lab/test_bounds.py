# SPDX-License-Identifier: GPL-2.0-only
"""A guest that goes wrong while it measures ends in time and in words; several CPUs are told."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.measure import measure
from rtscope.lab.boot import resume
from rtscope.lab.emulator import Emulator
from rtscope.lab.kernels import Kernel
from rtscope.lab.machine import MONITOR
from rtscope.lab.monitor import Monitor
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.target.protocol import PROTOCOL_VERSION, Start


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Monitor]:
    """Connects to the monitor of the guest that was restored last."""
    places: list[Path] = []

    def noted(emulator: Emulator, directory: Path) -> None:
        places.append(directory / MONITOR)
        resume(emulator, directory)

    monkeypatch.setattr("rtscope.lab.guest.resume", noted)
    return lambda: Monitor(places[-1], lambda: False)


def test_a_kernel_that_panics_while_it_measures_says_so(
    rt_kernel: Kernel, monitor: Callable[[], Monitor]
) -> None:
    target = vm_target(f"vm:{rt_kernel.name}")
    # A machine check whose processor context is corrupt: Intel's manual, volume 3, 16.3.2.2.
    broken = "mce 0 1 0xbe00000000000000 0x4 0 0"

    def measuring() -> None:
        with target.started_agent(Request(samples=1000000)) as agent:
            for line in agent.lines(60):
                if isinstance(line, Start):
                    with monitor() as qemu:
                        qemu.command("human-monitor-command", **{"command-line": broken})

    with pytest.raises(RtscopeError, match=r"(?s)kernel panicked: .*achine check.*console:\n"):
        measuring()


@pytest.mark.parametrize("start", ["booted", pytest.param("restored", marks=pytest.mark.long)])
def test_a_kernel_that_panics_early_and_cannot_reset_is_ended_at_once(
    rt_kernel: Kernel, start: str
) -> None:
    target = vm_target(f"vm:{rt_kernel.name},start={start}")
    options = ["panic=0", "rdinit=/none", "root=none", "console=none"]
    broken = msgspec.structs.replace(
        target, kernel=msgspec.structs.replace(target.kernel, options=options)
    )

    with (
        broken.started_agent(Request()) as agent,
        pytest.raises(RtscopeError, match=r"(?s)kernel panicked: .*root fs.*console:\n"),
    ):
        list(agent.lines(60))


def test_an_emulator_that_gets_no_cpu_is_given_up_by_the_clock(tmp_path: Path) -> None:
    stopped = Emulator(["sh", "-c", "kill -STOP $$"], tmp_path, None, 0.2)
    try:
        with pytest.raises(RtscopeError, match=r"never sent hello within .* and was ended"):
            list(stopped.lines(60))
    finally:
        stopped.close()


def test_samples_that_do_not_come_can_be_interrupted(tmp_path: Path) -> None:
    words = [f'{{"type":"hello","protocol":{PROTOCOL_VERSION},"agent":"0"}}']
    words += ['{"type":"end","status":"complete"}']
    says_all = f"echo 100 >samples; printf '%s\n' '{words[0]}' '{words[1]}'; exec sleep 1000"
    emulator = Emulator(["sh", "-c", says_all], tmp_path, None, 60.0)
    try:
        assert len(list(emulator.lines(60))) == 2
        emulator.interrupt()
        with pytest.raises(RtscopeError, match="interrupted while the guest was sending its sam"):
            emulator.samples()
    finally:
        emulator.close()


def test_a_guest_that_falls_silent_is_ended_after_its_share_of_cpu_time(rt_kernel: Kernel) -> None:
    hasty = msgspec.structs.replace(vm_target(f"vm:{rt_kernel.name}"), boot_limit_s=4.0)

    # Nothing says when this measurement ends.
    with (
        hasty.started_agent(Request()) as agent,
        pytest.raises(RtscopeError, match=r"fell silent within 4 s of .* CPU time and was ended"),
    ):
        list(agent.lines(60))


def test_several_cpus_are_measured_and_labelled_as_functional(rt_kernel: Kernel) -> None:
    target = vm_target(f"vm:{rt_kernel.name},cpus=2")
    run = measure(Request(samples=50), Machine(), lambda agent: None, lambda line: None, target)

    assert [thread.cpu for thread in run.threads] == [0, 1]
    assert all(thread.count == 50 for thread in run.threads)
    assert run.lab is not None
    assert (run.lab.mode, run.lab.restored, run.lab.instructions) == ("fast", False, {})
    codes = {warning.code: warning.text for warning in run.warnings}
    assert "what runs where" in codes["functional-only"]
