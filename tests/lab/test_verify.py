# SPDX-License-Identifier: GPL-2.0-only
"""lab verify: what is the same is said to be, and what is not is shown where it parts."""

import subprocess
import sys

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.verify import Repetition, first_difference


def verify(name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "lab", "verify", name, "--samples=50"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_runs_that_count_instructions_are_the_same(rt_kernel: Kernel) -> None:
    done = verify(rt_kernel.name)

    assert done.returncode == 0, done.stderr
    *runs, verdict = done.stdout.splitlines()
    assert len({line.split()[-1] for line in runs}) == 1
    assert "busy processes" in runs[2]
    assert verdict == "the samples of all runs are the same, bit for bit"


@pytest.mark.kernels
def test_runs_by_the_hosts_time_part_and_the_sample_is_named(rt_kernel: Kernel) -> None:
    done = verify(f"vm:{rt_kernel.name},mode=fast")

    assert done.returncode == 1
    assert "runs 1 and 2 part: sample 1 was" in done.stderr
    assert "bit for bit" not in done.stdout


def test_the_first_sample_that_differs_is_reported_or_that_one_run_is_longer() -> None:
    lines = ["0\t0\t1000\t5", "0\t0\t2000\t6"]
    one = Repetition("", lines, "a")

    assert first_difference(one, Repetition("", lines, "a")) is None
    other = [lines[0], "0\t0\t2000\t7"]
    assert first_difference(one, Repetition("", other, "b")) == (
        "sample 2 was 6 ns late at 2000 ns and then 7 ns late at 2000 ns"
    )
    assert first_difference(one, Repetition("", lines[:1], "c")) == (
        "one has 2 samples and the other 1"
    )
