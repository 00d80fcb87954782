# SPDX-License-Identifier: GPL-2.0-only
"""rtscope farm run against a real labgrid, whose place is a board of a test with a real sshd."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.farm.labgrid import Labgrid, running_labgrid
from tests.target.board import PORT, Board, environment_of, needs_board, running_board

pytestmark = [needs_board, pytest.mark.kernels]

PLAN = """
title = "Two"
[[measure]]
probes = ["cyclic"]
loads = ["idle", "cpu"]
duration = "3s"
"""

Farm = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    with running_board(tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture
def labgrid(board: Board, tmp_path: Path) -> Iterator[Labgrid]:
    config = (board.folder / "ssh_config").read_text()
    address = config.split("HostName ")[1].split()[0]
    service = {"address": address, "username": "root", "port": int(PORT)}
    folder = tmp_path / "labgrid"
    folder.mkdir()
    with running_labgrid(folder, {"one": {"NetworkService": service}}, {"one": {}}) as labgrid:
        yield labgrid


@pytest.fixture
def environment(board: Board, agent_path: Path, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "plan.toml").write_text(PLAN)
    own = {"XDG_STATE_HOME": str(tmp_path / "state")}
    return environment_of(board.folder, board.runtime, agent_path) | own


@pytest.fixture
def command(labgrid: Labgrid, tmp_path: Path) -> Callable[..., list[str]]:
    """The words of `rtscope farm run`, with more keys of the board."""

    def words(*keys: str, wait: str = "60s") -> list[str]:
        lines = ['target = "labgrid:one"', "quiet = false", 'boot_wait = "30s"', *keys]
        text = f'coordinator = "{labgrid.address}"\nlease_wait = "{wait}"\n[[board]]\n'
        (tmp_path / "farm.toml").write_text(text + "\n".join(lines) + "\n")
        run = [sys.executable, "-m", "rtscope", "farm", "run", str(tmp_path / "farm.toml")]
        return [*run, str(tmp_path / "plan.toml"), "--json", "--tag=nightly"]

    return words


@pytest.fixture
def farm(command: Callable[..., list[str]], environment: dict[str, str]) -> Farm:
    def run(*keys: str, wait: str = "60s") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*keys, wait=wait), env=environment, capture_output=True, text=True, check=False
        )

    return run


def runs_of(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_a_plan_is_measured_on_a_leased_place(farm: Farm, labgrid: Labgrid, tmp_path: Path) -> None:
    done = farm()
    assert not done.returncode, done.stderr
    runs = runs_of(done.stdout)
    assert {run["load"] for run in runs} == {"idle", "cpu"}
    assert {run["target"] for run in runs} == {"labgrid:one"}
    assert all(run["tags"] == ["nightly"] and run["status"] == "complete" for run in runs)
    assert not labgrid.holder("one")
    (state,) = (tmp_path / "state/rtscope/activity").glob("*.jsonl")
    activity, board = map(json.loads, state.read_text().splitlines())
    assert activity["ended"]
    assert (board["state"], board["done"], board["cells"]) == ("done", 2, 2)


@pytest.mark.parametrize(
    ("key", "named"),
    [('arch = "sparc64"', "sparc64"), ('kernel = "2.4"', "2.4"), ('arch = "x"', "x")],
)
def test_another_board_than_the_farm_file_has_is_refused(
    farm: Farm, labgrid: Labgrid, key: str, named: str
) -> None:
    done = farm(key)
    assert done.returncode == 2
    assert named in done.stderr
    assert not done.stdout
    assert not labgrid.holder("one")


def _started(words: list[str], environment: dict[str, str], until: str) -> subprocess.Popen[str]:
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


def test_a_link_that_goes_is_noticed_and_measured_on_when_it_is_back(
    board: Board, command: Callable[..., list[str]], environment: dict[str, str], labgrid: Labgrid
) -> None:
    process = _started(command(), environment, "load")
    time.sleep(2)
    board.unplug()
    assert process.stderr
    start = time.monotonic()
    next(line for line in process.stderr if "recovering" in line)
    noticed_s = time.monotonic() - start
    subprocess.run(["ip", "link", "set", board.link, "up"], check=True)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert noticed_s < 60  # bench/farm.py has how long it takes on a quiet computer
    runs = runs_of(printed)
    assert [run["status"] for run in runs] == ["failed", "complete", "complete"]
    assert runs[0]["threads"][0]["count"] > 0
    assert not labgrid.holder("one")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_releases_the_place_and_the_same_command_continues(
    farm: Farm,
    command: Callable[..., list[str]],
    environment: dict[str, str],
    labgrid: Labgrid,
    number: signal.Signals,
) -> None:
    process = _started(command(), environment, "1/2")
    process.send_signal(number)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 128 + number, said
    assert not labgrid.holder("one")
    first = runs_of(printed)
    assert first[0]["status"] == "complete"
    done = farm()
    assert not done.returncode, done.stderr
    assert [run["load"] for run in runs_of(done.stdout)] != [first[0]["load"]]
    assert len(runs_of(done.stdout)) == 1


def test_after_a_kill_the_next_run_names_the_holder(
    farm: Farm,
    command: Callable[..., list[str]],
    environment: dict[str, str],
    labgrid: Labgrid,
    board: Board,
) -> None:
    process = _started(command(), environment, "1/2")
    process.kill()
    process.communicate()
    assert not board.still_running()
    done = farm(wait="1s")
    assert done.returncode == 1
    assert f"rtscope-{process.pid}/" in done.stderr
    labgrid.client("-p", "one", "release", "--kick")
    assert not farm().returncode
