# SPDX-License-Identifier: GPL-2.0-only
"""A connection to a board that is lost: nothing goes on there, and what was measured is kept."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from rtscope.model.run import Run
from tests.target.board import WAIT_S, Board, clients_of, environment_of, needs_board, running_board

pytestmark = [needs_board, pytest.mark.kernels]

USERS = ["root", "admin"]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with running_board(tmp_path) as board:
        yield board


@contextmanager
def measuring(board: Board, agent_path: Path, user: str) -> Iterator[subprocess.Popen[str]]:
    """rtscope, as the command that it is, measuring on the board for longer than any test."""
    words = ("measure", "-t", f"ssh:{user}@board", "--load=cpu:1+files:2", "-D", "10m", "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", *words, "--no-report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment_of(board.folder, board.runtime, agent_path),
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert " samples" in said, said + process.stderr.read()
            assert len(board.agents()) >= len(
                ("tether", "agent", "supervisor", "leader", "cpu", "files")
            )
            assert board.sessions()
            assert any("mux" in line for line in board.clients())
            yield process
        finally:
            process.kill()


def outcome(process: subprocess.Popen[str]) -> tuple[int, Run, str]:
    """Its status, the run that it printed, and what it complained of."""
    out, complaints = process.communicate(timeout=60)
    return process.returncode, msgspec.json.decode(out, type=Run), complaints


CUTS = [
    *(("network", user) for user in USERS),
    *(("sshd", user) for user in USERS),
    ("ssh", "root"),
]


@pytest.mark.parametrize(("cut", "user"), CUTS)
def test_a_lost_connection_ends_load_and_threads_there_and_the_run_is_kept(
    board: Board, agent_path: Path, cut: str, user: str
) -> None:
    with measuring(board, agent_path, user) as process:
        if cut == "network":
            board.unplug()
        elif cut == "sshd":
            for pid in board.sessions():
                os.kill(pid, signal.SIGKILL)
        else:
            clients = clients_of(board.folder, board.runtime)
            (own,) = [pid for pid, line in clients.items() if "cyclic" in line]
            os.kill(own, signal.SIGKILL)
        assert not board.still_running()
        status, run, _ = outcome(process)
    assert (status, run.status) == (1, "failed")
    (reported,) = [one.text for one in run.warnings if one.code == "agent-died"]
    assert f"the connection to ssh:{user}@board was lost" in reported
    assert ("(ssh was ended here by SIGKILL)" in reported) == (cut == "ssh")
    for thread in run.threads:
        assert thread.count == sum(thread.histogram.count) > 100
        assert sum(thread.windows.count) == pytest.approx(thread.count, abs=2)
    assert cut != "ssh" or not board.still_connected()


@pytest.mark.parametrize("user", USERS)
def test_nothing_is_left_anywhere_when_rtscope_is_killed(
    board: Board, agent_path: Path, user: str
) -> None:
    with measuring(board, agent_path, user) as process:
        process.kill()
        assert not board.still_running()
    assert not board.still_connected()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_here_ends_it_there_and_the_run_is_whole(
    board: Board, agent_path: Path, number: signal.Signals
) -> None:
    with measuring(board, agent_path, "admin") as process:
        process.send_signal(number)
        status, run, _ = outcome(process)
        assert not board.still_running()
    assert (status, run.status) == (128 + number, "interrupted")
    assert all(thread.histogram.total == thread.count > 0 for thread in run.threads)
    assert not board.still_connected()


def test_an_agent_that_does_not_end_by_itself_is_killed(board: Board, agent_path: Path) -> None:
    with measuring(board, agent_path, "root"):
        os.kill(board.agents()[1], signal.SIGSTOP)
        board.unplug()
        assert not board.still_running()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_wait_for_a_board_that_does_not_answer(
    board: Board, agent_path: Path, number: signal.Signals
) -> None:
    board.unplug()
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", "check", "--target", "ssh:board"],
        env=environment_of(board.folder, board.runtime, agent_path),
    ) as process:
        try:
            until = time.monotonic() + WAIT_S
            while not board.clients() and time.monotonic() < until:
                time.sleep(0.1)
            process.send_signal(number)
            assert process.wait(WAIT_S) == 128 + number
        finally:
            process.kill()
    assert not board.clients()
    assert not list(Path(board.runtime).glob("*/*"))


def test_a_watch_goes_on_as_another_run_when_the_board_is_back(
    board: Board, agent_path: Path
) -> None:
    words = ("watch", "-t", "ssh:root@board", "--for", "10m", "--json", "--no-report")
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment_of(board.folder, board.runtime, agent_path),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert any(" samples" in line for line in process.stderr)
            for pid in board.sessions():
                os.kill(pid, signal.SIGKILL)
            first = msgspec.json.decode(process.stdout.readline(), type=Run)
            assert any(" samples" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            second = msgspec.json.decode(process.stdout.readline(), type=Run)
        finally:
            process.kill()
    assert first.status == "failed"
    assert second.status == "interrupted"
    assert first.id != second.id
    assert min(sum(thread.count for thread in run.threads) for run in (first, second)) > 100
