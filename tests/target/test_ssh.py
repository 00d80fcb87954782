# SPDX-License-Identifier: GPL-2.0-only
"""A board over ssh: how the agent gets there, runs there, and what is told where it cannot."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rtscope.engine import check
from rtscope.engine.cells import cells_of
from rtscope.engine.measure import measure, read_machine
from rtscope.engine.planfile import parse_plan
from rtscope.model.errors import RtscopeError
from rtscope.model.progress import Progress
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Agent
from rtscope.target.connection import destination_of, printable
from rtscope.target.protocol import AnyLine
from rtscope.target.ssh import SshTarget
from tests.target.board import Board, needs_board
from tests.target.conftest import Reach

pytestmark = needs_board

PLAN = """title = "x"
targets = ["ssh:pi@board"]
[[measure]]
probes = ["cyclic"]
samples = 5
tune = {profile = "minimal"}
"""
AGENTS = "/root/.cache/rtscope/agents"


def measured(target: SshTarget, *, samples_file: Path | None = None, stop: bool = False) -> Run:
    """A short run beside a load; with `stop` a long one that is interrupted."""
    agents: list[Agent] = []

    def on_line(line: AnyLine) -> None:
        if stop and isinstance(line, Progress):
            agents[0].interrupt()

    request = Request(
        load="cpu:1",
        duration_ns=60_000_000_000 if stop else 600_000_000,
        samples_file=str(samples_file) if samples_file else None,
    )
    return measure(request, read_machine(target), agents.append, on_line, target)


def codes(run: Run) -> set[str]:
    return {warning.code for warning in run.warnings}


def test_a_run_there_is_like_one_here_and_brings_its_samples(
    reach: Reach, board: Board, tmp_path: Path
) -> None:
    run = measured(reach("ssh:board"), samples_file=tmp_path / "samples")
    assert (run.status, run.target) == ("complete", "ssh:board")
    assert run.machine.hostname
    assert {thread.policy for thread in run.threads} == {"fifo"}
    assert not {"not-root", "samples-file-failed"} & codes(run)
    lines = (tmp_path / "samples").read_text().splitlines()
    assert len(lines) == 1 + sum(thread.count for thread in run.threads)
    assert [path.name for path in tmp_path.iterdir()] == ["samples"]
    assert board.sh(f"ls {AGENTS}").startswith("rtscope-agent-")
    assert "samples" not in board.sh(f"ls {AGENTS}")
    assert not board.agents()


def test_an_interrupted_run_reports_what_it_measured(
    reach: Reach, board: Board, tmp_path: Path
) -> None:
    run = measured(reach("ssh:board"), samples_file=tmp_path / "samples", stop=True)
    assert run.status == "interrupted"
    assert all(thread.count == thread.histogram.total > 0 for thread in run.threads)
    assert (tmp_path / "samples").stat().st_size > 1000
    assert not board.still_running()


def test_samples_that_have_no_place_here_are_reported(reach: Reach, board: Board) -> None:
    run = measured(reach("ssh:board"), samples_file=Path("/dev/full"))
    assert run.status == "complete"
    (reported,) = [one.text for one in run.warnings if one.code == "samples-file-failed"]
    left = reported.rpartition(" ")[2]
    assert int(board.sh(f"wc -l < {left}")) == 1 + sum(thread.count for thread in run.threads)


def test_missing_rights_to_tune_there_are_reported_before_anything_is_measured(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = reach("ssh:pi@board")
    monkeypatch.setattr(check, "target_of", lambda name: target)
    file = parse_plan(PLAN, Path("plan.toml"))
    with pytest.raises(RtscopeError) as refused:
        check.check_tuning(file, cells_of(file), lambda name: read_machine(target))
    assert str(refused.value).startswith("plan.toml:6: tune: ")
    assert "CAP_" in str(refused.value)
    assert "which this user does not have" in str(refused.value)


def test_sudo_is_used_where_it_is_allowed_and_its_lack_is_reported(
    reach: Reach, board: Board, tmp_path: Path
) -> None:
    run = measured(reach("ssh:admin@board"), samples_file=tmp_path / "samples", stop=True)
    assert run.status == "interrupted"
    assert {thread.policy for thread in run.threads} == {"fifo"}
    assert "not-root" not in codes(run)
    assert (tmp_path / "samples").stat().st_size > 1000
    assert not board.still_running()
    run = measured(reach("ssh:pi@board"))
    assert {"not-root", "no-rt-priority"} <= codes(run)
    (reported,) = [one.text for one in run.warnings if one.code == "not-root"]
    assert "ssh:pi@board" in reported
    assert "a password is required" in reported


def test_the_agent_is_brought_whole_and_once_and_replaces_older_ones(
    reach: Reach, board: Board
) -> None:
    board.sh(f"mkdir -p -m 700 {AGENTS}; touch {AGENTS}/rtscope-agent-old {AGENTS}/mine")
    path = reach("ssh:board").installed.command[-1]
    first = board.sh(f"ls -i {AGENTS}/*")
    assert "rtscope-agent-old" not in first
    assert "mine" in first
    reach("ssh:board")
    assert board.sh(f"ls -i {AGENTS}/*") == first
    size = int(board.sh(f"wc -c < {path}"))
    board.sh(f"truncate -s -1 {path}")
    assert reach("ssh:board").installed.command[-1] == path
    assert int(board.sh(f"wc -c < {path}")) == size


def test_what_a_profile_prints_is_passed_over_within_bounds(reach: Reach, board: Board) -> None:
    board.sh("echo 'printf \"{}\\nhello \"; echo noise >&2' >/root/.bashrc")
    target = reach("ssh:board")
    assert target.machine_files(lambda agent: None)["uname:machine"]
    board.sh("echo yes >/root/.bashrc")
    with pytest.raises(RtscopeError, match="ssh:board wrote more than 10000 lines before the"):
        target.machine_files(lambda agent: None)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("scale", "-D", "30ms", "--form", "scalar"), 0, ""),
        (("interfere", "--", "/root/no-such"), 2, "copy it to ssh:board first, and give its path"),
    ],
)
def test_a_placement_series_runs_there_and_is_in_the_store(
    reach: Reach, board: Board, tmp_path: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    command, *rest = words
    short = ("--rounds", "2", "--no-report", "--json", "--target", "ssh:board")
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", command, *short, *rest],
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert said in " ".join(done.stderr.split())
    if not status:
        reported = json.loads(done.stdout)
        assert (reported["target"], reported["advice"][0]["workload"]) == ("ssh:board", "scalar")
        assert list(tmp_path.rglob("runs.sqlite"))
    assert not board.agents()


@pytest.mark.kernels
def test_one_connection_carries_all_until_the_end(reach: Reach, board: Board) -> None:
    logins = "grep -c ^Accepted /run/board/log"
    before = int(board.sh(logins))
    target = reach("ssh:board")
    time.sleep(8)
    assert target.machine_files(lambda agent: None)["uname:machine"]
    assert int(board.sh(logins)) == before + 1


def test_a_board_with_nothing_but_busybox_will_do(reach: Reach, board: Board) -> None:
    board.sh(
        "mkdir /tmp/box; cp $(command -v busybox) /tmp/box; /tmp/box/busybox --install -s /tmp/box"
    )
    board.sh("mount --bind /tmp/box /usr/bin")
    run = measured(reach("ssh:pi@board"), stop=True)
    assert reach("ssh:pi@board").installed.folder == "/home/pi/.cache/rtscope/agents"
    assert run.status == "interrupted"
    (reported,) = [one.text for one in run.warnings if one.code == "not-root"]
    assert "sudo: not found" in reported


def test_where_nothing_may_run_or_fits_another_place_is_taken(reach: Reach, board: Board) -> None:
    board.sh("mount -t tmpfs -o noexec,mode=700 board /root; mount -t tmpfs -o size=64k board /tmp")
    target = reach("ssh:board")
    assert target.installed.folder == "/dev/shm/rtscope-agents-0"
    assert target.machine_files(lambda agent: None)["uname:machine"]
    board.sh("mount -t tmpfs -o noexec board /dev/shm")
    with pytest.raises(RtscopeError) as caught:
        reach("ssh:board")
    said = str(caught.value)
    assert said.startswith("ssh:board has no directory for the agent")
    assert said.count("Permission denied (mounted noexec?)") == 2
    assert "No space left on device" in said
    assert board.sh("find /root /tmp /dev/shm -type f") == ""


@pytest.mark.parametrize("trap", ["mkdir -m 777", "ln -s /home/pi", "mkdir -m 700"])
def test_a_folder_that_others_can_change_is_not_used(reach: Reach, board: Board, trap: str) -> None:
    """Another user of the board waits for root to run what is there."""
    folder = "/tmp/rtscope-agents-0"
    board.sh(f"setpriv --reuid=1234 --clear-groups {trap} {folder}")
    board.sh("mount -t tmpfs -o noexec,mode=700 board /root")
    assert reach("ssh:board").installed.folder == "/dev/shm/rtscope-agents-0"


def test_words_for_the_agent_mean_nothing_to_the_boards_shell(reach: Reach, board: Board) -> None:
    target = reach("ssh:board")
    for text in ("1;touch /tmp/a;", "$(touch /tmp/a)", "`touch /tmp/a`", "' \" \\ ${HOME} *&|#"):
        with (
            target.started_agent(Request(policy=text)) as agent,
            pytest.raises(RtscopeError) as caught,
        ):
            list(agent.lines(20))
        said = f"rtscope-agent cyclic: --policy '{text}' is not fifo, deadline or other"
        assert str(caught.value) == said
    assert board.sh("ls /tmp") == ""


@pytest.mark.parametrize(
    ("uname", "said"),
    [
        ("echo armv7l", "ssh:board is armv7l: rtscope has agents for aarch64, "),
        ("echo ../../x", "ssh:board accepted the login, but its commands do not respond"),
        ("printf '\\033[31m' >&2; exit 1", r"like those of Linux: �[31m"),
    ],
)
def test_a_board_that_is_no_machine_of_ours_is_reported(
    reach: Reach, board: Board, uname: str, said: str
) -> None:
    board.sh(f"cat >/tmp/uname <<'end'\n#!/bin/sh\n{uname}\nend\nchmod 755 /tmp/uname")
    board.sh("mount --bind /tmp/uname /usr/bin/uname")
    with pytest.raises(RtscopeError) as caught:
        reach("ssh:board")
    assert str(caught.value).startswith(said) or said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ssh:nobody@board", "it refused the login: `ssh -- nobody@board` must work"),
        ("ssh:board:1", "nothing listens on that port"),
        ("ssh:no-such-host.invalid", "unknown host name"),
    ],
)
def test_a_board_that_cannot_be_reached_is_reported_with_the_reason(
    reach: Reach, name: str, said: str
) -> None:
    with pytest.raises(RtscopeError) as caught:
        reach(name)
    assert str(caught.value).startswith(f"{name} cannot be reached: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("known", "said"),
    [("", "its host key is not known here"), ("another", "its host key has changed")],
)
def test_another_machine_in_its_place_is_not_trusted(
    reach: Reach, board: Board, known: str, said: str
) -> None:
    file = board.folder / "known_hosts"
    right = file.read_text()
    another = (board.folder / "key.pub").read_text()
    file.write_text(f"{right.split()[0]} {another}" if known else "")
    try:
        with pytest.raises(RtscopeError, match=said):
            reach("ssh:board")
    finally:
        file.write_text(right)


@contextmanager
def at_a_terminal(board: Board) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """rtscope with a terminal of its own, asked to trust a host key; and the terminal's end."""
    known = board.folder / "known_hosts"
    right = known.read_text()
    known.write_text("")
    master, slave = pty.openpty()
    words = ("check", "--json", "--target", "ssh:board")
    with subprocess.Popen(
        ["setsid", "--ctty", sys.executable, "-m", "rtscope", *words],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        os.close(slave)
        try:
            text = b""
            while b"continue connecting (yes/no" not in text:
                assert select.select([master], [], [], 30)[0], text
                text += os.read(master, 65536)
            yield process, master
        finally:
            process.kill()
            os.close(master)
            known.write_text(right)


def test_at_a_terminal_ssh_may_ask(reach: Reach, board: Board) -> None:
    with at_a_terminal(board) as (process, terminal):
        os.write(terminal, b"yes\n")
        out, _ = process.communicate(timeout=30)
    assert json.loads(out)["target"] == "ssh:board"


def test_ctrl_c_at_that_question_ends_it(reach: Reach, board: Board) -> None:
    with at_a_terminal(board) as (process, terminal):
        # Between its question and its first look for the answer, ssh takes no notice of a Ctrl-C.
        for _ in range(30):
            os.write(terminal, b"\x03")
            with suppress(subprocess.TimeoutExpired):
                assert process.wait(timeout=1) == 130
                return
    raise AssertionError("it still waits for an answer")


def test_a_folder_for_sockets_that_others_can_change_is_refused(reach: Reach, board: Board) -> None:
    folder = Path(board.runtime, f"rtscope-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o770)
    try:
        with pytest.raises(RtscopeError, match="is not private to you: remove it"):
            reach("ssh:board")
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("board", "board", None),
        ("pi@board:2222", "pi@board", "2222"),
        ("pi@192.0.2.1:22", "pi@192.0.2.1", "22"),
        ("pi@[fe80::1%eth0]:22", "pi@fe80::1%eth0", "22"),
        ("[2001:db8::1]", "2001:db8::1", None),
        ("2001:db8::1", "2001:db8::1", None),
        ("ssh://pi@board:22", "ssh://pi@board:22", None),
    ],
)
def test_boards_are_named_as_ssh_takes_them(text: str, host: str, port: str | None) -> None:
    destination = destination_of(text)
    assert (destination.host, destination.port) == (host, port)


def test_text_of_a_board_cannot_steer_a_terminal() -> None:
    said = printable("\x1b[2J one\r\n\n two\x07 \u202e three\x9b1m\n" + "x" * 10_000)
    assert said.startswith("\ufffd[2J one; two\ufffd \ufffd three\ufffd1m; xxx")
    assert len(said) == 400
