# SPDX-License-Identifier: GPL-2.0-only
"""A board that nothing was left on, and what reaches it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rtscope.target.ssh import SshTarget, ssh_target
from tests.target.board import Board, running_board

Reach = Callable[[str], SshTarget]


@pytest.fixture
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A new board for each test: nothing has to be removed from one."""
    with running_board(tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture
def reach(board: Board, agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reach]:
    """Targets by name, whose connections end with the test."""
    monkeypatch.setenv("PATH", f"{board.folder}/bin", prepend=":")
    monkeypatch.setenv("XDG_RUNTIME_DIR", board.runtime)
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))
    targets = []

    def reached(name: str) -> SshTarget:
        targets.append(ssh_target.__wrapped__(name))
        return targets[-1]

    yield reached
    for target in targets:
        target.connection.close()
