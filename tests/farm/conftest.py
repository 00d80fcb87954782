# SPDX-License-Identifier: GPL-2.0-only
"""A farm of one place that is an emulated board."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rtscope.lab.kernels import Kernel, add_package, list_kernels
from tests.farm.labgrid import Labgrid, running_labgrid
from tests.farm.qemu_board import QemuBoard
from tests.lab.conftest import debian_kernel, only_one

Words = Callable[..., list[str]]


@pytest.fixture(scope="session")
def networked_kernel() -> Kernel:
    """Debian's, with the driver of the emulator's network."""
    name = "6.12-rt-amd64-networked"
    with only_one():
        kept = {kernel.name: kernel for kernel in list_kernels()}
        return kept.get(name) or add_package(
            "linux-image-6.12-rt-amd64", name=name, load=["virtio_net"]
        )


@pytest.fixture(scope="session")
def rt_kernel() -> Kernel:
    """Debian's, as the lab's tests have it."""
    return debian_kernel("linux-image-6.12-rt-amd64", "6.12-rt-amd64", [])


@pytest.fixture
def qemu_board(
    networked_kernel: Kernel,
    agent_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> QemuBoard:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))
    folder = tmp_path / "emulated"
    folder.mkdir()
    return QemuBoard(networked_kernel, folder)


@pytest.fixture
def qemu_labgrid(qemu_board: QemuBoard, tmp_path: Path) -> Iterator[Labgrid]:
    folder = tmp_path / "labgrid"
    folder.mkdir()
    with running_labgrid(folder, {"one": qemu_board.resources}, {"one": {"cpu": "x"}}) as labgrid:
        yield labgrid


@pytest.fixture
def qemu_farm(qemu_labgrid: Labgrid, qemu_board: QemuBoard, tmp_path: Path) -> Words:
    """The words of `rtscope farm run`, for a plan with this duration."""

    def words(duration: str, *keys: str, target: str = "labgrid:cpu=x") -> list[str]:
        wait = [] if any("quiet_wait" in key for key in keys) else ['quiet_wait = "5m"']
        lines = [f'target = "{target}"', 'boot_wait = "5m"', *wait, *keys]
        (tmp_path / "farm.toml").write_text(
            f'coordinator = "{qemu_labgrid.address}"\n'
            f'environment = "{qemu_board.folder}/environment.yaml"\n[[board]]\n'
            + "\n".join(lines)
            + "\n"
        )
        (tmp_path / "plan.toml").write_text(
            'title = "Two"\n[[measure]]\nprobes = ["cyclic"]\nloads = ["idle", "cpu"]\n'
            f'duration = "{duration}"\n'
        )
        run = [sys.executable, "-m", "rtscope", "farm", "run"]
        return [*run, str(tmp_path / "farm.toml"), str(tmp_path / "plan.toml"), "--json"]

    return words


@pytest.fixture
def environment(agent_path: Path, tmp_path: Path) -> dict[str, str]:
    return os.environ | {
        "RTSCOPE_AGENT": str(agent_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def started(words: list[str], environment: dict[str, str], until: str) -> "subprocess.Popen[str]":
    """A farm run, once its progress has this text."""
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    said = ""
    for line in process.stderr:
        said += line
        if until in line:
            return process
    raise AssertionError(said)


def runs_of(printed: str) -> list[dict[str, Any]]:
    """The runs that a command printed as JSON."""
    return [json.loads(line) for line in printed.splitlines()]
