# SPDX-License-Identifier: GPL-2.0-only
"""A plan of several emulated machines, which are measured side by side."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rtscope.lab.kernels import Kernel
from rtscope.model.run import Run

PLAN = """
title = "Two seeds, for hours"
targets = ["vm:{kernel},seed=1", "vm:{kernel},seed=2"]

[[measure]]
probes = ["cyclic"]
samples = 100000000
"""


def measuring(parent: int) -> list[int]:
    """The emulators of this process that were restored, by pid."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if " -incoming " in line]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_ending_a_plan_keeps_what_was_measured_and_leaves_no_machine(
    rt_kernel: Kernel, tmp_path: Path, number: signal.Signals
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(kernel=rt_kernel.name))
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope.cli.main", "run", str(plan), "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        until = time.monotonic() + 200
        while len(machines := measuring(process.pid)) < 2 and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.2)
        time.sleep(3)
        process.send_signal(number)
        out, err = process.communicate(timeout=100)

    assert process.returncode == 128 + number, err.decode()
    assert len(machines) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in machines)
    assert not list(tmp_path.glob("rtscope-vm-*"))
    runs = [msgspec.json.decode(line, type=Run) for line in out.splitlines()]
    assert [run.status for run in runs] == ["interrupted", "interrupted"]
    assert all(run.threads[0].count for run in runs)
