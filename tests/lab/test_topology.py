# SPDX-License-Identifier: GPL-2.0-only
"""A guest's structure is given, and told as it is; of what emulated CPUs share nothing is said."""

import subprocess
import sys

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.model.finding import CpuGroups, CpusNotMeasured, EmulatedCpus, ReportedTopology
from rtscope.model.run import Run
from rtscope.statistics.sharing import sharing
from rtscope.store.runfile import decode_run

pytestmark = pytest.mark.kernels


def measured(probe: str, target: str, *options: str) -> Run:
    """One repeat of a probe."""
    short = ("-O", "slot=1ms", "-l", "1", "--json", "--quiet", "--no-report")
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", "measure", probe, "--target", target, *short, *options],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return decode_run(done.stdout)


def test_threads_of_a_core_and_an_offline_cpu_are_reported(rt_kernel: Kernel) -> None:
    run = measured("topology", f"vm:{rt_kernel.name},shape=1x2x2,offline=1")
    assert [cpu.online for cpu in run.machine.cpus] == [True, True, True, False]
    assert [cpu.smt_siblings for cpu in run.machine.cpus] == [[0, 1], [0, 1], [2], []]
    assert [thread.cpu for thread in run.threads] == [0, 1, 2]
    emulated, topology, *_, last = sharing(run)
    assert emulated == EmulatedCpus()
    assert isinstance(topology, ReportedTopology)
    assert CpuGroups("core", [[0, 1]]) in topology.levels
    assert last == CpusNotMeasured(cpus=[3], offline=True)


def test_memory_is_measured_on_the_threads_of_a_core_too(rt_kernel: Kernel) -> None:
    run = measured("memory", f"vm:{rt_kernel.name},shape=1x2x2,offline=1", "-O", "largest=1")
    curves = {matrix.name: matrix for matrix in run.matrices if matrix.name != "disturbance"}
    assert curves.keys() == {"latency", "read", "write", "copy"}
    for matrix in curves.values():
        assert matrix.rows == ["CPU 0", "CPU 0's siblings", "all 3 CPUs"]
        assert all(value for row in matrix.value for value in row)
