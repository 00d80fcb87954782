# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale and interfere on a board over ssh, with a program that is there or is not."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.target.board import Board, left_of, needs_board

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


def test_a_program_of_the_board_is_measured_there(board: Board) -> None:
    board.sh("printf '#!/bin/sh\\ntouch /root/was-here\\n' > /root/app; chmod 755 /root/app")
    words = ("--load", "cpu", "--json", "--", "/root/app")
    done = rtscope("interfere", *SHORT, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["threads"][0]["count"] == 2
    assert board.sh("ls /root/was-here").strip() == "/root/was-here"


def test_a_program_that_is_not_there_is_to_be_copied(board: Board) -> None:
    done = rtscope("interfere", *SHORT, "--", "/root/no-such")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "/root/no-such could not be started: No such file" in said
    assert "copy it to ssh:board first, and give its path there" in said
    assert not board.agents()


# The runs of it up to the one that it is told are over at once; that one and those after go on.
APP = """#!/bin/sh
echo "$1" >> /root/runs
test $(wc -l < /root/runs) -lt "$2" || { sleep 1000 & wait; }
"""


def interrupted(when: Callable[[], object], *words: str) -> tuple[int, str, str]:
    """What became of the command that gets a Ctrl-C as from a terminal: status, output, errors."""
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            until = time.monotonic() + 60
            while not when() and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            assert process.poll() is None
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    return process.returncode, out, err


def left_there(board: Board) -> list[str]:
    """What an agent is, or has started, on the board."""
    ours = ("/rtscope-agent-", "/root/app", "sleep 1000")
    return [line for line in board.processes().values() if any(one in line for one in ours)]


@pytest.mark.parametrize(
    ("runs", "rounds", "cells", "command"),
    [
        (6, 2, 2, ("scale", "--cpus", "0", "--threads", "1,2")),
        (2, 1, 1, ("interfere", "--load", "cpu")),
    ],
)
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_on_the_board(
    board: Board, runs: int, rounds: int, cells: int, command: tuple[str, ...]
) -> None:
    board.sh(f"cat > /root/app <<'END'\n{APP}END\nchmod 755 /root/app; touch /root/runs")
    short = ("--rounds", "9", "--no-report", "--target", "ssh:board", "--json")
    status, out, err = interrupted(
        lambda: len(board.sh("cat /root/runs").split()) == runs,
        *(*command, *short, "--", "/root/app", "{n}", f"{runs}"),
    )
    assert status == 130, err
    assert not left_of(lambda: left_there(board))
    assert not board.still_connected()
    told = json.loads(out)
    assert told["status"] == "interrupted"
    medians = [cell["medians_ns"] for cell in told["sweep"]["cells"]]
    assert [len(one) for one in medians] == [rounds] * cells
    assert json.loads(rtscope("show", told["id"], "--json").stdout)["sweep"] == told["sweep"]
