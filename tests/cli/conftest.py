# SPDX-License-Identifier: GPL-2.0-only
"""The command line as a user has it: its own process, its own store."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.preloaded import Preloaded

Rtscope = Callable[..., subprocess.CompletedProcess[str]]
COMMAND = [sys.executable, "-m", "rtscope"]


def environment_of(agent: Path, data: Path) -> dict[str, str]:
    """What runs this checkout with a store in `data`."""
    return os.environ | {
        "RTSCOPE_AGENT": str(agent),
        "XDG_DATA_HOME": str(data),
        "XDG_STATE_HOME": str(data / "state"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def started(
    environment: dict[str, str], *words: str, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """`rtscope WORDS` in a process of its own, with pipes for its output."""
    return subprocess.Popen(
        [*COMMAND, *words],
        env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def environment(agent_path: Path, tmp_path: Path) -> dict[str, str]:
    return environment_of(agent_path, tmp_path / "data")


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    process = Preloaded()
    yield process
    process.close()


@pytest.fixture
def rtscope(environment: dict[str, str], tmp_path: Path, preloaded: Preloaded) -> Rtscope:
    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return preloaded.run(arguments, tmp_path, environment | more)

    return run
