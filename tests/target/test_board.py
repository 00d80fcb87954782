# SPDX-License-Identifier: GPL-2.0-only
"""The boards of tests hold nothing of the host's that a test could write or remove."""

import subprocess
from pathlib import Path

import pytest

from tests.target.board import Board, needs_board
from tests.target.root import MARKER

pytestmark = needs_board


def mounts(text: str) -> list[tuple[str, set[str]]]:
    """The device number and the options of each mount, of /proc/PID/mountinfo."""
    fields = [line.split() for line in text.splitlines()]
    return [(words[2], set(words[5].split(","))) for words in fields]


def test_all_that_is_the_hosts_is_read_only(board: Board) -> None:
    ours = {device for device, _ in mounts(Path("/proc/self/mountinfo").read_text())}
    there = mounts(board.sh("cat /proc/self/mountinfo"))
    of_host = [options for device, options in there if device in ours]
    assert of_host
    assert all("ro" in options for options in of_host)


def test_a_mount_namespace_entered_without_its_root_leads_to_the_board(board: Board) -> None:
    enter = ["nsenter", f"--target={board.init}", "--mount", "cat", MARKER]
    found = subprocess.run(enter, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert found == board.sh(f"cat {MARKER}")


def test_nothing_runs_where_the_token_is_another(board: Board) -> None:
    board.sh(f"echo another > {MARKER}")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        board.sh("touch /tmp/ran")
    assert caught.value.returncode == 125
    assert not Path(f"/proc/{board.init}/root/tmp/ran").exists()
