# SPDX-License-Identifier: GPL-2.0-only
"""Halves of different versions work together within one protocol (docs/reference/versions.md).

There is no release before this one. Until there is, the older agent is that of the commit from
which the protocol's rule for unknown lines holds, built from its own sources.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.kernels  # builds an agent

ROOT: Final = Path(__file__).parents[2]
OLDEST: Final = "f2dc47e"
"""target: ignore lines of unknown types, with one warning a run"""
SOURCES: Final = ("agent", "kernel", "meson.build", "meson.options", "rtscope/__init__.py", "setup")


@pytest.fixture(scope="module")
def older_agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{OLDEST}^{{commit}}"],
        cwd=ROOT, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if known.returncode:
        pytest.skip(f"this checkout has no history: commit {OLDEST} is not in it")
    folder = tmp_path_factory.mktemp("older")
    archive = subprocess.run(
        ["git", "archive", OLDEST, *SOURCES], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    environment = os.environ | {"CC": shutil.which("musl-gcc") or "gcc"}
    binaries = Path(sys.executable).parent
    for command in (["meson", "setup", "build"], ["ninja", "-C", "build", "rtscope-agent"]):
        subprocess.run(
            [binaries / command[0], *command[1:]],
            cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    return folder / "build" / "rtscope-agent"


@pytest.mark.parametrize("probe", ["cyclic", "signal", "async"])
def test_this_rtscope_measures_with_the_oldest_agent(
    older_agent: Path, tmp_path: Path, probe: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", "measure", probe, "-D", "300ms", "--no-report", "--json"],
        cwd=ROOT,
        env=os.environ | {"RTSCOPE_AGENT": str(older_agent), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert sum(thread["count"] for thread in run["threads"]) > 0


def test_an_agent_of_another_protocol_is_refused_in_one_sentence(tmp_path: Path) -> None:
    agent = tmp_path / "rtscope-agent"
    agent.write_text('#!/bin/sh\necho \'{"type":"hello","protocol":2,"agent":"9"}\'\n')
    agent.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", "measure", "-D", "300ms", "--no-report"],
        cwd=ROOT,
        env=os.environ | {"RTSCOPE_AGENT": str(agent), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "protocol 2" in done.stderr
