# SPDX-License-Identifier: GPL-2.0-only
"""Ensembles of the lab on a dask cluster: the same runs, whatever the node."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rtscope.lab.kernels import Kernel
from rtscope.model.run import Run
from tests.farm.dask import running_cluster

pytestmark = pytest.mark.kernels


def measured(*words: str, agent: Path, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--json", "--no-report",
         "--samples=200", "--load=process:1", *words],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_DATA_HOME": str(data), "RTSCOPE_AGENT": str(agent)},
    )  # fmt: skip


def test_two_nodes_measure_what_this_computer_measures(
    rt_kernel: Kernel, agent_path: Path, tmp_path: Path
) -> None:
    words = (f"--target=vm:{rt_kernel.name}", "--seeds=4")
    here = measured(*words, agent=agent_path, data=tmp_path)
    with running_cluster(tmp_path, 2, agent_path) as address:
        there = measured(*words, f"--dask={address}", agent=agent_path, data=tmp_path)
    assert not here.returncode, here.stderr
    assert not there.returncode, there.stderr
    one, other = (msgspec.json.decode(done.stdout, type=Run) for done in (here, there))
    assert one.members == other.members
    assert one.threads == other.threads
    assert one.lab == other.lab
    assert one.machine == other.machine
    for number in range(2):
        kept = tmp_path / f"cache{number}" / "rtscope" / "kernels" / rt_kernel.name / "kernel"
        assert kept.stat().st_size


def test_a_node_with_another_kernel_of_that_name_is_named(
    rt_kernel: Kernel, agent_path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "cache0" / "rtscope" / "kernels" / rt_kernel.name
    other.mkdir(parents=True)
    record = msgspec.structs.replace(rt_kernel, release="0")
    (other / "kernel.json").write_bytes(msgspec.json.encode(record))
    with running_cluster(tmp_path, 1, agent_path) as address:
        target = f"--target=vm:{rt_kernel.name}"
        done = measured(target, f"--dask={address}", agent=agent_path, data=tmp_path)
    assert done.returncode == 2
    assert "node " in done.stderr
    assert f"rtscope lab kernel remove {rt_kernel.name}" in done.stderr


def test_no_scheduler_is_a_sentence(agent_path: Path, tmp_path: Path, rt_kernel: Kernel) -> None:
    target = f"--target=vm:{rt_kernel.name}"
    done = measured(target, "--dask=tcp://127.0.0.1:9", agent=agent_path, data=tmp_path)
    assert done.returncode == 2
    assert "no scheduler answers there" in done.stderr
