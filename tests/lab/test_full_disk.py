"""A disk that is full is named, with what to do, and takes nothing with it that is elsewhere."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.experiment.measure import Request, measure
from rtscope.lab.kernels import Kernel
from rtscope.lab.verify import repeat
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine


@pytest.fixture(autouse=True)
def _agent_of_this_checkout(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


def ignore(_: object) -> None:
    """Nobody interrupts here."""


def test_samples_that_do_not_fit_are_told_and_the_run_is_kept(
    arm64_kernel: Kernel,
    disk_of: Callable[[int], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = disk_of(800)  # the initramfs has 600 KiB, the samples 400 KiB
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    target = vm_target(f"vm:{arm64_kernel.name}")
    request = Request(samples=20_000, samples_file=str(tmp_path / "samples"))
    run = measure(request, Machine(), ignore, ignore, target)

    told = {warning.code: warning.text for warning in run.warnings}
    assert f"did not fit on the disk of {disk}" in told["samples-file-failed"]
    assert (run.status, run.threads[0].count) == ("complete", 20_000)
    assert not (tmp_path / "samples").exists()
    assert list(disk.iterdir()) == []

    proof = repeat(target, ["cyclic", "--json", "--samples=20000"], 1, ignore)
    with pytest.raises(RtscopeError, match="did not fit on the disk"):
        next(proof)
