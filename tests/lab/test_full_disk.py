# SPDX-License-Identifier: GPL-2.0-only
"""A disk that is full is named, with what to do, and takes nothing with it that is elsewhere."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.engine.measure import measure
from rtscope.lab.kernels import Kernel, kernel_file
from rtscope.lab.verify import repeat
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request

PLAN = """
title = "x"
targets = ["{target}"]
[[measure]]
probes = ["cyclic"]
samples = 10
"""


def ignore(_: object) -> None:
    """Nobody interrupts here."""


def test_samples_that_do_not_fit_are_reported_and_the_run_is_kept(
    arm64_kernel: Kernel,
    disk_of: Callable[[int], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = disk_of(900)  # the initramfs has 650 KiB, the samples 400 KiB
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    target = vm_target(f"vm:{arm64_kernel.name}")
    request = Request(samples=20_000, samples_file=str(tmp_path / "samples"))
    run = measure(request, Machine(), ignore, ignore, target)

    reported = {warning.code: warning.text for warning in run.warnings}
    assert f"did not fit on the disk of {disk}" in reported["samples-file-failed"]
    assert (run.status, run.threads[0].count) == ("complete", 20_000)
    assert not (tmp_path / "samples").exists()
    assert list(disk.iterdir()) == []

    proof = repeat(target, Request(samples=20000), 1, ignore)
    with pytest.raises(RtscopeError, match="did not fit on the disk"):
        next(proof)


@pytest.fixture
def full_cache(
    arm64_kernel: Kernel, disk_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A cache with a kernel and not much space; the least guest's snapshot has some 60 MB."""
    disk = disk_of(8_000)
    folder = disk / "rtscope" / "kernels"
    folder.mkdir(parents=True)
    (folder / arm64_kernel.name).symlink_to(kernel_file(arm64_kernel).parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    return disk


def test_a_snapshot_that_does_not_fit_names_its_disk_and_leaves_nothing(
    arm64_kernel: Kernel, full_cache: Path
) -> None:
    snapshots = full_cache / "rtscope" / "snapshots"
    target = vm_target(f"vm:{arm64_kernel.name}")
    with (
        target.started_agent(Request()) as agent,
        pytest.raises(
            RtscopeError, match=f"{snapshots} could not take it, its disk has 0 MB left; .*booted"
        ),
    ):
        list(agent.lines(60))
    assert [path.suffix for path in snapshots.iterdir()] == [".lock"]


@pytest.mark.parametrize("command", ["measure", "--seeds", "run", "boot", "verify"])
def test_a_machine_that_has_no_room_for_its_files_names_the_folder(
    command: str,
    arm64_kernel: Kernel,
    disk_of: Callable[[int], Path],
    tmp_path: Path,
) -> None:
    disk = disk_of(200)  # less than the initramfs
    plan = tmp_path / "plan.toml"
    name = f"{arm64_kernel.name},start=booted"
    plan.write_text(PLAN.format(target=f"vm:{name}"))
    words = {
        "measure": ["measure", "--target", f"vm:{name}"],
        "--seeds": ["measure", "--target", f"vm:{name}", "--seeds=3"],
        "run": ["run", str(plan)],
        "boot": ["lab", "boot", name],
        "verify": ["lab", "verify", name],
    }
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", *words[command]],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path),
             "TMPDIR": str(disk)},
    )  # fmt: skip

    assert f"cannot create the VM's files in {disk}: No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert list(disk.iterdir()) == []
