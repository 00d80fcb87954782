# SPDX-License-Identifier: GPL-2.0-only
"""A samples file that stays on a board costs nothing of the run that it belongs to."""

from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.target.connection import Connection, Said
from rtscope.target.samples import Samples


class Silent(Connection):
    """A board that stopped answering after the agent's start."""

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def close(self) -> None:
        """It was never opened."""

    def run(self, script: str, *words: str, stdin: object = None) -> Said:
        self.scripts.append(script)
        if len(self.scripts) > 1:
            raise RtscopeError("ssh:board: the agent was silent for 120 s and was ended")
        return Said(0, [], "")


def test_a_board_that_answers_no_more_is_reported_and_not_raised(tmp_path: Path) -> None:
    board = Silent()
    samples = Samples(board, "/there", Request(samples_file=f"{tmp_path}/samples"))
    (reported,) = samples.fetched()
    assert reported.code == "samples-file-failed"
    assert "was silent for 120 s" in reported.text
    assert "; the samples are on the board in /there/samples-" in reported.text
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_removed_there_is_let_be() -> None:
    board = Silent()
    Samples(board, "/there", Request(samples_file="/dev/null")).remove()
    assert len(board.scripts) == 2
