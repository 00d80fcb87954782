# SPDX-License-Identifier: GPL-2.0-only
"""The agent's exec verb: a command's runs are timed, on its CPUs, and nothing of them is left."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.agent.probing import (
    LAST_CPU,
    lines_left,
    measure,
    needs_two_cpus,
    of_type,
    started,
)


def test_each_run_of_the_command_is_a_sample() -> None:
    lines = measure("exec", "-l", "5", "--", "sleep", "0.05")
    start = of_type(lines, "start")[-1]
    assert start["options"] == {"command": "sleep 0.05"}
    [thread] = of_type(lines, "thread")
    assert thread["count"] == 5
    assert thread["min_ns"] >= 50e6
    assert thread["facts"]["cpu_ns"] < 50e6


def test_the_command_has_the_cpus_and_the_policy_it_was_given(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f"grep Cpus_allowed_list /proc/self/status > {seen}; nice >> {seen}; cat >> {seen}"
    measure("exec", "-a", f"{LAST_CPU}", "-l", "1", "--", "sh", "-c", script)
    assert seen.read_text().split() == ["Cpus_allowed_list:", f"{LAST_CPU}", f"{os.nice(0)}"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["./no-such"], "./no-such could not be started: No such file or directory"),
        (
            ["sh", "-c", "echo no; echo one >&2; echo two >&2; exit 3"],
            "sh ended with exit status 3: two",
        ),
        (["sh", "-c", "kill -SEGV $$"], "sh was ended by signal 11"),
    ],
)
def test_a_command_that_fails_ends_the_measurement_with_its_last_words(
    command: list[str], sentence: str
) -> None:
    lines = measure("exec", "-l", "3", "--", *command, status=1)
    assert lines[-1]["status"] == "failed"
    assert any(sentence in line["text"] for line in of_type(lines, "warning"))
    assert of_type(lines, "thread")[0]["count"] == 0


def test_what_a_run_leaves_in_its_group_is_ended(tmp_path: Path) -> None:
    number = tmp_path / "pid"
    measure("exec", "-l", "1", "--", "sh", "-c", f"sleep 60 & echo $! > {number}")
    assert_gone(int(number.read_text()))


def test_an_interrupt_ends_a_run_that_would_go_on(tmp_path: Path) -> None:
    number = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {number}; wait"
    with started("exec", "--", "sh", "-c", script) as process:
        assert started_by(process.pid)
        process.terminate()
        assert lines_left(process)[-1]["status"] == "interrupted"
    assert_gone(int(number.read_text()))


def test_a_killed_agent_takes_its_command_along() -> None:
    with started("exec", "--", "sleep", "60") as process:
        [child] = started_by(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
    assert_gone(child)


def assert_gone(pid: int) -> None:
    """The process ends within 10 s, or has ended and nobody has asked for its end yet."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(1000):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} is left")


@needs_two_cpus
def test_loads_keep_to_the_cpus_they_are_given() -> None:
    other = min(os.sched_getaffinity(0))
    options = ("-a", f"{LAST_CPU}", "--load", "cpu", "--load-cpus", f"{other}")
    with started("cyclic", *options) as process:
        allowed = [
            Path(f"/proc/{pid}/status").read_text()
            for pid in descendants(process.pid)
            if Path(f"/proc/{pid}/comm").read_text() == "load-cpu\n"
        ]
        process.terminate()
        lines = lines_left(process)
    assert len(allowed) == 1
    assert f"Cpus_allowed_list:\t{other}\n" in allowed[0]
    assert of_type(lines, "load")[0]["strength"] == 1


def started_by(pid: int) -> list[int]:
    """The processes that any thread of this one has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for text in lists for child in text.read_text().split()]


def descendants(pid: int) -> list[int]:
    """All that a process has started, and what those have."""
    own = started_by(pid)
    return own + [late for child in own for late in descendants(child)]
