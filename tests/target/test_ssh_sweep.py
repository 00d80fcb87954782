# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale and interfere on a board over ssh, with a program that is there or is not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.target.board import Board, needs_board

pytestmark = [needs_board, pytest.mark.usefixtures("reach")]

SHORT = ("--rounds", "2", "--no-report", "--target", "ssh:board")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def rtscope(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtscope", *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_algorithm_scales_there_and_the_record_is_in_the_store(board: Board) -> None:
    done = rtscope("scale", "-D", "30ms", "--form", "scalar", "--json", *SHORT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"] == "ssh:board"
    assert told["advice"][0]["workload"] == "scalar"
    assert json.loads(rtscope("show", "--json").stdout)["id"] == told["id"]
    assert not board.agents()


def test_a_program_that_is_not_there_is_to_be_copied(board: Board) -> None:
    done = rtscope("interfere", *SHORT, "--", "/root/no-such")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "/root/no-such could not be started: No such file" in said
    assert "copy it to ssh:board first, and give its path there" in said
    assert not board.agents()
