# SPDX-License-Identifier: GPL-2.0-only
"""Each run of an ensemble in the lab can be had again alone, by its seed."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from rtscope.lab.kernels import Kernel
from rtscope.model.run import Run


def measured(*words: str, data: Path) -> Run:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--json", "--no-report",
         "--samples=200", "--load=process:1", *words],
        capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_DATA_HOME": str(data)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=Run)


def test_members_are_the_runs_of_their_seeds_and_differ(rt_kernel: Kernel, tmp_path: Path) -> None:
    target = f"--target=vm:{rt_kernel.name}"
    together = measured(target, "--seeds=2", data=tmp_path)
    alone = measured(f"{target},seed=2", data=tmp_path)

    one, other = together.members
    assert (one.seed, other.seed) == (1, 2)
    assert other.threads == alone.threads
    assert one.threads != other.threads
    assert alone.lab is not None
    assert other.console == alone.lab.console != ""
    assert together.threads[0].count == 400
    assert together.lab is not None
    assert together.lab.instructions["max"] == together.threads[0].max_ns
